const words = (text: string): ReadonlySet<string> =>
  new Set(
    fold(text)
      .split(/\s+/)
      .filter((word) => word !== ""),
  );

/** Function words, folded (lower case, no accents). */
export const stopWords = words(`
  a an the this that these those there here it its i me my mine we us our ours you your yours of in on at to from by for with as into onto over
  under about and or but so then than if when while is are was were be been being am do does did done has have had having will would shall
  should can could may might just also too very really please now any some one ones thing things way lot get got let lets like such which who whom
  whose what where how why because since until up out off again more most much many both each other
  der die das den dem des ein eine einen einem einer eines ich du er sie es wir ihr mich mir dich dir uns euch mein meine meinen meinem meiner dein deine
  unser unsere und oder aber denn weil wenn dann als wie zu zum zur im in am an auf aus bei mit von vom fur uber unter nach ist sind war waren bin bist
  sein hat habe haben hatte wird werden wurde wurden auch noch nur schon sehr bitte mal doch so da hier dass was wer
  le la les l un une des du de d je j tu il elle on nous vous ils elles me m te t se s mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs
  et ou mais donc car que qu qui quoi dans sur sous avec pour par en au aux est sont suis es etes etait ai as a ont avons avez ce cet cette ces plus
  tres aussi bien
  el los las lo una unos unas yo tu usted ella nosotros vosotros ellos ellas mi mis su sus nuestro nuestra y o pero porque que quien en sobre con por
  para del al es son soy eres era fue he ha han hay esta este esto estos estas se le les muy tambien mas
  и или но а в во на с со к ко по за из от до для о об у это этот эта эти то тот та те я ты он она оно мы вы они мне меня мой моя мое мои твой наш
  ваш его ее их что кто как так же бы ли был была было были есть быть буду будет очень тоже также
  をはがにへとでもやのかなねよ です ます
`);

/** Words with which an agent reports the owner's statement. They need no evidence. */
export const framing = words(`
  owner owners user users he him his she her hers they them their theirs person developer lancelot agent assistant
  prefer prefers preferred preference preferences want wants wanted wish wishes say says said state states stated tell tells told ask asks asked
  request requests requested mention mentions mentioned like likes liked love loves use uses used using work works working know known
  name named names called is need needs needed choose chose chosen decided decide decides decision rule rules fact project workspace repository
  remember remembers note noted make makes made keep kept should must going
  besitzer eigentumer nutzer benutzer mochte will bevorzugt bevorzugen bevorzuge mag sagt sagte heisst heisse nutzt nutze benutzt verwendet verwende verwenden projekt
  soll sollen sollte sollten
  proprietaire utilisateur prefere preferer veut souhaite aime dit appelle utilise utiliser projet
  propietario dueno usuario prefiere prefiero quiere quiero desea dice llama llamo usa uso usar utiliza utilizo proyecto
  владелец пользователь предпочитает предпочитаю хочет хочу просит любит люблю говорит сказал зовут использует использую используем проект
`);

/** For scripts without spaces, unfolded. */
export const framingCjk =
  /用户|使用者|所有者|主人|他|她|我们|我|你|您|喜欢|偏好|更喜欢|希望|想要|想|使用|用|是|的|了|在|项目|请|都|ユーザー|オーナー|所有者|私|僕|彼|彼女|好み|好む|好き|希望|使う|使い|使っ|使わ|プロジェクト|です|ます|ください|こと|という|して|する|した|は|が|を|に|で|と|も|の/gu;

/** Negations; in some languages they follow the word. */
export const negators = words(`
  not no never none nothing neither nor don't dont doesn't doesnt didn't didnt isn't isnt aren't arent won't wont can't cant cannot shouldn't shouldnt
  mustn't mustnt wasn't wouldn't without avoid avoids avoided stop stops hate hates hated dislike dislikes forbid forbids forbidden instead rather
  nicht kein keine keinen keinem keiner nie niemals ohne statt anstatt vermeide vermeiden hasse
  pas jamais aucun aucune sans ni evite eviter deteste plutot lieu
  nunca jamas ningun ninguna sin ni tampoco evita evitar odio odia lugar
  не нет никогда без ни вместо избегай избегает избегать ненавижу ненавидит
`);

export const negatorsCjk = /不要|不能|不会|不想|不喜欢|不用|别|没有|没|勿|不|从不|而不是|ない|ません|なく|ず(?=に)|禁止/gu;

interface Idea {
  test(text: string): boolean;
}

/** Compiled when a text is first judged: eight such patterns take 5 ms. */
const idea = (spaced: string, unspaced: string): Idea => {
  let pattern: RegExp | undefined;
  return { test: (text) => (pattern ??= compileIdea(spaced, unspaced)).test(text) };
};

const compileIdea = (spaced: string, unspaced: string): RegExp => {
  const any = fold(spaced)
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => word.replaceAll("_", " ").replaceAll("*", "\\p{L}*"));
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${any.join("|")})(?![\\p{L}\\p{N}])|${fold(unspaced)}`, "u");
};

/** Words that widen permissions: a text with one needs evidence with the same idea, in any words. */
export const weighty: readonly Idea[] = [
  idea(
    "always every_time everytime each_time immer jedes_mal stets toujours chaque_fois siempre cada_vez всегда каждый_раз",
    "总是|始终|每次|一直|いつも|常に|毎回|必ず",
  ),
  idea(
    `all every everything everyone everybody anything anyone anybody any alle alles aller allen jeder jede jedes jeden jedem tous toutes tout toute chaque
    n'importe_quel todo todos todas toda cada cualquier cualquiera все всё всех всем любой любые любое каждый каждая`,
    "所有|全部|任何|一切|すべて|全て|全部|あらゆる|どんな",
  ),
  idea(
    `allow* permit* permission* approv* authoriz* authoris* grant* consent* may pre-approv* erlaub* genehmig* freigegeben darf dürfen autoris* permis
    approuv* peut permit* permis* aprob* aprueb* autoriz* puede разреш* одобр* можно может`,
    "允许|批准|同意|授权|可以|許可|承認|認め|してよい|してもいい",
  ),
  idea(
    `disabl* skip* bypass* ignor* overrid* deaktivier* überspring* umgeh* désactiv* contourn* saltar salta omitir omite desactiv* отключ* пропуск* пропусти*
    игнорир* обход*`,
    "禁用|跳过|绕过|忽略|关闭|無効|スキップ|無視|回避",
  ),
  idea("trust* vertrau* confiance confía confianza довер*", "信任|信頼"),
  idea("automat* autonom* unattended by_itself автомат*", "自动|自動"),
  idea("delet* remov* erase* wipe* lösch* entfern* supprim* effac* borr* elimin* удал* стер*", "删除|移除|削除|消去"),
  idea(
    `push* publish* upload* send* sent post posts posted deploy* veröffentlich* hochlad* schick* envoi* envoy* publi* envía* envia* subir sube отправ* публик*
    загруж*`,
    "推送|发布|上传|发送|プッシュ|公開|送信|アップロード|デプロイ",
  ),
];

/** Lower case without accents, composed: the form in which words are compared. */
export function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/(?<=[\p{Script=Latin}\p{Script=Cyrillic}])\p{Mn}+/gu, "")
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll("’", "'");
}
