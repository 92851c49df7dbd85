/** Stop words in the languages of users. */
const list = `a an the this that these those it its i me my mine you your yours he him his she her we us our ours they them their theirs
  is are was were be been being am do does did doing done have has had having can could may might must shall should will would
  and or but nor so if then than as of at by for with about against between into through to from in out on off over under again
  there here when where why how what which who whom whose all any both each few more most other some such no not only own same too very just
  please tell show find explain describe give know want need like get got let lets let's also don't doesn't didn't isn't aren't can't won't i'm i'd it's what's where's how's
  ich du er sie es wir ihr mein dein sein unser der die das den dem des ein eine einer eines einem einen und oder aber wenn dann als von bei für mit über zu aus in auf an ist sind war waren wird werden
  hat haben kann können soll nicht nur auch wie was wo warum welche welcher welches bitte mir uns
  le la les un une des de du et ou mais si que qui quoi où comment pourquoi est sont était je tu il elle nous vous ils ce cette ces mon ton son notre dans sur pour avec par pas ne aussi quel quelle
  el los las una unos unas y o pero si que quien qué cómo dónde por para con sin en es son era yo tú él ella nosotros este esta estos mi tu su nuestro no también cuál
  il lo gli i uno e ma se che chi come dove perché è sono era io tu lui lei noi questo questa mio tuo suo nostro nel nella con per non anche quale
  o a os as um uma e ou mas se que quem como onde porque é são era eu você ele ela nós este esta meu seu nosso no na em com para não também qual
  het een en of maar als dan van bij voor met over naar uit in op aan is zijn was waren ik jij hij zij wij dit dat deze mijn jouw niet ook hoe wat waar waarom welke
  и в на с по к у о об из за для не что как где почему это этот эта я ты он она мы вы они`;

const words = new Set(list.split(/\s+/));

export function isStopWord(word: string): boolean {
  return words.has(word.toLowerCase());
}
