import { fold } from "./text-tokens.ts";

/**
 * Function words without accents in common languages of developers. Words with a meaning in another
 * language or in code (`die`, `war`, `on`, `port`, `via`) are excluded.
 */
const lists: readonly string[] = [
  // English
  `a an the this that these those i me my mine we us our ours you your yours he him his she her it its they them their is am are was were be
   been being do does did done doing have has had having can could may might must shall should will would of in on at by for from to into
   with without about as and or but if then than so what which who whom whose when where why how there here not no yes please tell know
   remember recall forget remind again ever any some much many lot let lets get got want wants need needs say says said supposed called
   there's what's who's where's i'm it's don't doesn't didn't isn't aren't s t re ve ll d m don doesn didn isn aren wasn won couldn wouldn
   use uses used using`,
  // German
  `der das dem den des ein eine einen einem einer eines ich mir mich mein meine meinen du dir dich dein deine wir uns unser unsere ihr ihre
   ist sind wird werden wurde hat haben hatte kann konnen soll sollen muss mussen und oder aber nicht kein keine mit von vom zum zur fur auf
   bei aus nach wie wer wen wem wessen wo wohin wann warum wieso weshalb welche welcher welches welchen welchem dass ob noch schon bitte
   heisst gibt im am zu sich es benutzt benutzen verwendet verwenden nutzt`,
  // French
  `le la les un une des du de d l je j moi mon ma mes tu toi ton ta tes nous notre nos vous votre vos il elle ils elles est sont etait etre
   ai as avons avez ont peut doit dans sur sous avec sans pour par et ou ne n pas que qu qui quoi quel quelle quels quelles quand comment
   pourquoi combien c ce cette ces cet se s y en au aux est-ce utilise utiliser utilisons`,
  // Spanish and Portuguese
  `el los las una unos unas del al yo mi mis tus nosotros nuestro nuestra nuestros vosotros es son era fue ser esta estan estar hay ha han
   puede debe en con sin para por y o pero cual cuales quien quienes cuando donde como cuanto cuantos que se lo su sus usa usamos utiliza
   os uma uns umas da das dos na nas nos ao eu meu minha meus minhas nosso nossa nossos e sao foi estao ha tem pode deve com sem ou mas qual
   quais quem quando onde quanto quantos porque voce voces usamos`,
  // Italian
  `il lo gli uno della dello degli delle dei nel nella sono era essere io mio mia noi nostro nostra chi che cosa quale quali quando dove
   come perche quanto quanti di da si ha hanno abbiamo deve puo usa usiamo per con`,
  // Dutch
  `het een ik mij mijn wij we ons onze jij jouw zijn was waren wordt worden heeft hebben kan moet moeten niet geen en of maar met van voor
   naar bij wie wat welke welk wanneer waar waarom hoe dat dit deze die er gebruikt gebruiken`,
  // Polish and Czech
  `jest sa byl byla nie czy jak jaki jaka jakie jaki ktory ktora ktore kto co gdzie kiedy dlaczego ile dla przez moj moja nasz nasza nasze
   uzywa uzywamy je jsou byl nebo ale jaky ktera kdo kde kdy proc kolik nas nase muj moje pouziva pouzivame`,
  // Turkish
  `bir bu su ve veya ile icin ne nedir nasil nerede kim hangi hangisi neden kac mi mu benim bizim`,
  // Swedish, Danish, Norwegian
  `jag vi vart vara ar och eller inte med av till fran vad vem vilken vilket vilka nar hur varfor det den som har jeg vores er og ikke af fra
   hvad hvem hvilken hvilket hvor hvordan hvornar hvorfor`,
  // Russian and Ukrainian
  `и в во не на я мы ты вы он она оно они мой моя мои наш наша наши что кто где когда почему как какой какая какое какие какую каком сколько
   чей это этот эта эти для из от до по с со у к о об или но если есть был была было быть ли же бы мне нас нам меня используем используется
   який яка яке які де коли чому скільки та або це ми ви він вона вони наш наша для з із від використовуємо`,
  // Japanese, Korean and Chinese, in pairs of characters
  `です ます した する して いる ある ない です のは のが のを には では とは から まで どの どこ いつ 何で 何の なに だれ 誰が 誰の ください どれ
   はど はな はい すか ますか ですか って れて され この その 무엇 어디 언제 누가 어떤 어느 입니 니다 습니 니까 인가 가요 나요 하는 에서 으로
   什么 甚么 哪个 哪里 哪些 哪儿 怎么 怎样 多少 为什 谁的 我们 我的 你们 是什 是谁 是哪 在哪 用哪 用什 请问 一个 这个 那个 的是 吗`,
];

const stopWords: ReadonlySet<string> = new Set(lists.flatMap(wordsOf));

/** True for a folded function word. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word);
}

const weakWords: ReadonlySet<string> = new Set(
  wordsOf(`long often large big small old fast far high deep much happen happens happened work works working made make makes call kind type sort way
   put done go goes come comes stay stays live lives thing things currently now today new
   lange oft gross alt schnell passiert funktioniert gemacht macht heute jetzt
   longtemps souvent grand marche fait maintenant mucho grande funciona hace ahora lungo grande funziona fatto
   долго часто большой работает делают сейчас находится`),
);

/** True for a word that questions have and answers rarely do: `how long`, `how does it work`. */
export function isWeakWord(word: string): boolean {
  return weakWords.has(word);
}

function wordsOf(list: string): string[] {
  return list.trim().split(/\s+/).map(fold);
}
