/** Country codes and common generic top-level domains. Other suffixes (`.png`, `.rc`, `.shape`) are not e-mail domains. */
const countries =
  "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw " +
  "cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in " +
  "io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my " +
  "mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv " +
  "sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";
const generic =
  "com org net edu gov mil int info biz name pro aero coop museum mobi jobs tel travel cat asia post xxx app dev page cloud online site store shop tech blog " +
  "email mail social network systems solutions services software studio agency digital group team company consulting design media academy school university " +
  "health care clinic doctor dental legal law finance bank insurance capital ventures energy engineering house homes land city town berlin hamburg koeln cologne " +
  "bayern wien swiss nrw ruhr saarland paris bzh alsace corsica london scot wales cymru nyc vegas boston miami amsterdam brussels vlaanderen gent barcelona " +
  "madrid eus gal quebec rio tokyo sydney melbourne istanbul moscow xyz club live life world today top vip icu fun art music film photo photos gmbh ltd llc inc " +
  "foundation ngo ong kaufen haus immo reise restaurant hotel church family wiki chat codes works zone space center run global earth green eco bio farm wine beer cafe " +
  "plus one new now ink press news review science fyi lgbt gay me men kids baby pet coach fit yoga partners associates consultancy";

const known = new Set(`${countries} ${generic}`.split(" "));

/** @param label in lower case, without a dot. */
export function isTopLevelDomain(label: string): boolean {
  return known.has(label) || label.startsWith("xn--");
}
