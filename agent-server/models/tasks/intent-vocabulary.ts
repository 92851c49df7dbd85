/**
 * Vocabulary of requests, in the languages of users. A space-separated list of whole words; `*` at the end matches any ending; `+` is a space.
 * Chinese and Japanese words match anywhere, since these languages have no spaces.
 */
export const wordLists = {
  /** Never low risk (A1). */
  write: `creat* write writes writing written wrote sav* updat* modif* edit edits edited editing
    erstell* schreib* speicher* aktualisier* bearbeit* ändere* ändern crée* créer écri* enregistr* modifi* édit* mets+à+jour mettre+à+jour
    crea crear* crean* creando créa* cree escrib* guarda* actualiz* modific* edita* scriv* salva* aggiorn* cria* crie criem escrev* salve atualiz* edite
    maak schrijf bewaar* werk+bij bewerk* создай* напиши* сохрани* обнови* измени* utwórz napisz zapisz zaktualizuj zmień
    创建 写 保存 更新 修改 编辑 作成 書い 保存 更新 変更 編集`,
  /** Other requests for a change. */
  change: `add adds adding fix fixes fixing repair* correct remov* delet* drop* renam* refactor* replac* implement* mov* convert* extract*
    mak* change changes chang* increas* decreas* insert* set sets format* revert* deploy* clean* generat* bump* split* build rebuild install* uninstall*
    upgrad* downgrad* migrat* port rewrit* rework* redesign* wrap* swap* turn put hide strip* squash* push* commit* merg* kill* restart* stop* rollback roll+back undo
    apply* enabl* disabl* handl* simplif* optimi* memoi* type document* dockeriz* schedul* translat* sort throw get+rid use wire resolv* bootstrap* integrat* reorgani*
    configur* let have pull sync patch tag reset init scaffold* connect* support* plug switch carry execut* roll+out finish complet* lint retry rethink cancel* run+the+migrations run+migrations redesign* rework*
    send sends sending sent upload* publish* share shares sharing post posts posting submit* forward* transfer* releas* ship ships pay pays paste expos*
    email+it email+them email+me email+the mail+it mail+them mail+me mail+the tweet+it tweet+the message+them turn+off power+off shut+down tear+down
    wipe wipes wiping purg* eras* destroy* nuke* overwrit* truncat* prune* flush* empty empties clear clears reboot* terminat* revok* grant* rotat* chmod chown
    füg* behebe* beheb* fixe* entfern* lösch* benenn* refaktorier* ersetz* implementier* verschieb* konvertier* mach* setz* install* bau* baue* leg* übersetz* nimm* stell* korrigier* repar* führe+aus umsetz* pack*
    schick* sende* lade lädst veröffentlich* teile vernicht* zerstör* leere überschreib* verwirf kopier* deployen
    ajout* corrig* supprim* renomm* remplac* implément* déplac* convertis* fais chang* installe* répar* réalis* exécut*
    envoie* envoyez envoyer publie publiez publier téléverse* partage* efface* détrui* écrase* vide videz vider transfère* refais refaites déploie* pousse
    añad* agreg* arregl* corrig* elimin* borr* renombr* reemplaz* implement* mueve* convierte* cambia* instala* haz quita* ejecut* refactoriza*
    envía* envia* manda mándal* mánda* publica* sube súbe* vacía* vacia* destruye* sobrescrib* comparte* repite* repít* despliega*
    aggiung* correggi* rimuov* elimin* rinomin* sostitu* cambia* installa* realizza* spost*
    invia* mandal* carica* carical* pubblic* condivid* cancell* svuota* distrugg* sovrascriv* rifa* rifai rifallo ripeti*
    adicion* corrij* remov* elimin* renome* substitu* mud* instal* execut* refatora*
    envie enviar mande mandar publique publicar suba apague apagar exclua excluir esvazi* destrua destruir compartilh* repita faça faz refaça
    voeg* verwijder* hernoem* vervang* herstel* verander* voer+uit
    добав* исправ* удал* переимен* замен* реализ* перенес* установ* сделай* выполни*
    dodaj* napraw* usuń* zastąp* przenieś* zainstaluj*
    添加 增加 修复 删除 移除 重命名 替换 实现 改成 改为 部署 安装 追加 修正 削除 直し 実装 置き換え 変えて`,
  /** Looking, running, explaining: nothing is changed. */
  read: `find search* grep list lists show display* print* run runs read open count check checks look+for look+up review* summari* sum+up tail cat scan* compar* download* fetch*
    tl;dr tldr inspect* draft get+me do+a
    zeig* such* finde* führ* lies lese* öffne* zähl* prüf* fass* vergleich* starte*
    montre* cherch* trouve* lance* lis liste* ouvre* compt* vérifi* résum* affich*
    muéstra* muestra* busca* encuentra* ejecuta+las lista* abre* cuenta* revisa* resum* lee
    mostra* cerca* trova* esegui* elenca* apri* controlla* riassumi*
    mostre* busque* procure* liste* abra* verifique* resuma*
    toon* zoek* vind* draai* open lees tel controleer*
    покажи* найди* запусти* открой* проверь* посчитай*
    pokaż znajdź uruchom sprawdź
    查找 搜索 运行 显示 列出 检查 見せて 探して 実行して 表示`,
  /** Requests a plan. */
  plan: `plan plans planning roadmap* strateg* architect* approach* outline* propos* sketch* blueprint* concept* milestone* estimat* brainstorm* rollout design*
    steps step-by-step checklist phases options suggest* recommend* map+out lay+out break+down break+up action+plan game+plan design+doc think+through think+about think+of way+forward how+should+we how+shall+we how+would+you how+wd+you
    would+you+go+about come+up+with work+out figure+out arch restructure evaluat* decid* devis*
    plane planen plant planung konzept* entwirf* entwurf* architektur* vorgehen* vorschlag* schlage strategie* schritte wie+würdest+du wie+sollten+wir wie+gehen+wir überleg* fahrplan
    planifi* conçois concevoir conception architecture propose* stratégie* étapes approche feuille+de+route élabor*
    planea* planifica* diseñ* propón propon* arquitectura estrategia* pasos elabora*
    piano progett* propon* architettura strategia* passi
    plano planej* projete proponha arquitetura estratégia* passos
    plannen ontwerp* voorstel* aanpak stappenplan
    план* спроектир* архитектур* предлож* стратег* разработ*
    zaplanuj zaprojektuj strategi* zaproponuj
    计划 方案 设计 架构 规划 策略 計画 設計 提案`,
  /** Requests the execution of the plan too. */
  act: `then+do implement* carry+it+out carry+out execut* and+do+it do+it then+make then+fix apply* build+it code+it go+through+them start+with roll+it+out migrate+all run+it execute+it
    umsetz* setze setz+sie setz+es führe führ* baue+es réalise-le implémente* implémente-le mets-le mettre+en+œuvre ejecút* ejecut* impleménta* implementa* créalo realizza* realizzalo implemente* execute-a
    выполни* реализ* 实现 执行 实施 実装 実行`,
  /** Too large to do without a plan. */
  whole: `whole entire complete full from+scratch everywhere across+all end-to-end app application backend frontend platform saas crm
    ganze* komplett* gesamt* vollständig* tout+le toute+la complet* complète* todo+el toda+la completo completa intero inteiro весь всю 整个 全部 全体`,
  question: `what whats what's which who whom whose where wheres where's when why how does do+we is are was were can+i can+one did has diff difference explain describe tell+me+about meaning wonder understand
    was welche* wer wo wann warum wieso wie weshalb erkläre* unterschied bedeutet
    que qu'est-ce quoi quel* qui où quand pourquoi comment c'est+quoi expliqu* différence
    qué cuál quién dónde cuándo cómo por+qué explica* diferencia significa
    cosa che+cos'è quale chi dove quando perché come spiega* differenza
    o+que qual quem onde como por+que porquê
    wat welke wie waar waarom hoe wanneer
    что какой какая кто где когда почему зачем как
    co jaki kto gdzie kiedy dlaczego jak
    什么 为什么 怎么 哪里 哪个 谁 如何 吗 何 なぜ どこ どう 誰 ですか ますか`,
  chat: `hi hello hey yo hiya howdy morning good+morning good+evening good+night gn8 happy merry bye goodbye cya see+you brb lol haha joke who+are+you who+r+u your+name are+you+human are+you+a+robot who+made+you what+can+you+do able+to+do
    how+are+you how's+it+going you're you+are ur feelings tired frustrated promoted what+a+day call+it+a+day you+there funny this+is+fun do+you+like do+you+have just+testing
    hallo moin servus guten wie+geht's tschüss
    bonjour bonsoir salut ça+va au+revoir
    hola buenas buenos+días adiós qué+tal
    ciao buongiorno buonasera arrivederci
    oi olá tudo+bem bom+dia tchau
    hoi goedemorgen doei
    привет здравствуйте пока
    cześć dzień+dobry
    你好 早上好 再见 こんにちは おはよう さようなら`,
  thanks: `thanks thank thx ty cheers awesome perfect great+job nice cool good+work great+work well+done interesting understood makes+sense got+it i+see okay never+mind nevermind nvm no+worries sorry
    danke* dankeschön vielen+dank super merci gracias perfecto grazie obrigado obrigada bedankt dank+je спасибо dziękuję 谢谢 ありがとう 👍 🎉 🙏 ❤️`,
  /** Agrees to a proposal. */
  assent: `yes yep yeah y go ja sure ok+do ok+go go+ahead go+for+it do+it do+that proceed continue next let's+go do+the please+do sounds+good carry+on try+again again once+more second+option first+option option+ keep+going go+on
    ja+bitte mach+weiter mach+das weiter genau+so oui vas-y fais-le continue sí adelante hazlo continúa sì procedi sim continue+ vá+em+frente ga+door да сделай продолжай tak dalej 好的 继续 是的 はい 続けて`,
  /** Refers to an earlier message. */
  back: `that it this those them same also too other one second+one 2nd first+one last+bit rest it+again in+more+detail you+mean meaning how+come why+tho again instead still next shorter longer previous
    das es auch nochmal andere zweite ça le+deuxième aussi eso también otro lo+mismo anche altro isso também это тоже 那个 它 それ`,
  /** About this project instead of general knowledge. */
  here: `here our we us repo repository codebase code+base project this+file this+function this+test this+class diese+funktion cette+fonction esta+función esta+función this+code this+repo branch readme the+code app's the+build the+tests commit commits file files folder folders endpoints config
    hier unser* projekt projekts datei dateien ordner code notre projet fichier fichiers dossier nuestro proyecto archivo archivos nostro progetto nosso projeto onze наш* проект* 这个 项目 この`,
  /** Names a defect or something missing, which implies a change. */
  need: `need needs want wants i'd+like would+like should must broken fails wrong missing has+to we+need i+want
    brauche* brauchen möchte will sollte il+faut je+veux necesit* quiero serve voglio preciso quero нужно надо хочу`,
  /** Negates an action. */
  hold: `no+code without+changing don't+change dont+change don't+move no+edits don't+write just+the+outline just+tell+me before+touching before+we+start plan+first think+first first ohne+code noch+nichts sans+coder sin+código`,
  /** Text for people, which needs no tools. */
  prose: `email e-mail haiku poem tweet message letter joke blog+post linkedin mail gedicht nachricht correo mensaje`,
  polite: `please pls plz can could would will kindly you u mind just hey hi ok okay so now also bitte kannst könntest du mal stp svp peux-tu pourriez-vous por+favor puedes per+favore puoi você pode alsjeblieft пожалуйста proszę 请 lancelot let's lets i'd like to`,
} as const;

export type WordList = keyof typeof wordLists;
