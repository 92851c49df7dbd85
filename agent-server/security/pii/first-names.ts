/** Common given names in the supported languages and of large communities in those countries. Lower case. */
const names =
  // English
  "james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan " +
  "jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry tyler aaron jose adam nathan henry douglas zachary peter kyle " +
  "noah ethan jeremy walter christian keith roger terry austin sean gerald carl harold dylan arthur lawrence jordan jesse bryan billy bruce gabriel joe logan alan juan albert willie elijah wayne randy vincent mason " +
  "roy ralph bobby russell bradley philip eugene liam oliver theodore caleb owen connor hunter ian isaac evan luke lucas jayden wyatt marcus curtis derek stanley leonard nathaniel edwin trevor oscar max leo louis " +
  "mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia " +
  "dorothy amy kathleen angela shirley emma brenda pamela nicole anna samantha katherine christine debra rachel carolyn janet maria olivia heather helen catherine diane julie victoria joyce lauren kelly christina " +
  "ruth joan virginia judith evelyn hannah andrea megan cheryl jacqueline madison teresa abigail sophia martha sara gloria janice kathryn ann isabella judy charlotte julia grace amber alice jean denise frances " +
  "danielle marilyn beverly brittany diana jane natalie sophie chloe lucy ella zoe poppy imogen harriet georgia freya isla phoebe eleanor fiona gemma claire louise hazel jasmine kate katie kirsty leah lydia molly " +
  "naomi paige penelope philippa rosemary rowena tamsin tess tracy wendy yvonne audrey beatrice bethany bridget caitlin clara daphne edith eliza ellen erin esther felicity florence gillian holly ingrid jill jodie " +
  "josephine joanna joanne kayla kristen lily lindsay lorraine maggie maisie marjorie matilda meredith mia miranda miriam monica nina nora polly priscilla rosalind rose ruby sally shannon sheila sienna stella " +
  "sylvia tara thea theresa ursula valerie vanessa vera vivian winifred alastair alfie alistair archie barry basil benedict bernard bertram callum cameron cedric clifford clive colin conor craig cyril damian darren " +
  "dean declan desmond dominic duncan dwight edgar edmund ernest ewan ferdinand finn fred frederick freddie gareth gavin geoffrey gilbert glen gordon graeme graham grant guy hamish harry harvey herbert horace howard " +
  "hugh hugo humphrey jamie jasper jim jimmy joel julian kurt lance leon leslie lewis lloyd malcolm marvin maurice melvin milton miles mitchell morgan morris murray neil nigel noel norman percy perry quentin " +
  "reginald rex rhys rodney roland rory rupert sebastian seth shane sidney simon spencer stuart teddy tobias toby todd tony tristan troy vernon victor wallace warren wesley wilfred winston bob dave mike steve chris " +
  "dan matt nick tom ben sam greg josh alex jeff ken rob ron tim becky beth cathy debbie jen jenny kathy kim liz mandy meg nikki pam pat sue vicky mark bill will art " +
  // German
  "hans klaus jürgen juergen günter günther wolfgang dieter manfred horst uwe bernd karl heinz gerhard helmut werner rolf rainer reiner stefan andreas matthias markus martin jörg joerg thorsten torsten sven ralf " +
  "holger dirk jens olaf axel lars kai kay oliver tobias florian felix fabian sebastian maximilian moritz lukas jonas leon finn niklas philipp simon johannes julian jan tim nico dominik marcel patrick rené heiko " +
  "volker ulrich hartmut detlef eberhard egon erich ernst erwin friedrich fritz georg gottfried heinrich hermann hubert jakob joachim josef jochen konrad kurt lothar ludwig norbert otto reinhard reinhold rudolf " +
  "rüdiger siegfried siegmund udo walther wilhelm wilfried winfried emil anton benedikt bastian christoph christof clemens hendrik henning henrik jannik joshua korbinian leonhard linus luca mattis maik malte mario nils ole " +
  "paul raphael robin samuel theo timo till valentin vincent xaver yannick ursula monika petra sabine renate helga karin brigitte ingrid erika gisela christa elisabeth andrea claudia susanne gabriele angelika " +
  "birgit heike martina anja stefanie nicole katja katrin kathrin tanja silke sonja simone bettina ulrike cornelia kerstin anke antje astrid beate britta carola daniela doris dorothea edeltraud elke eva franziska " +
  "frieda gerda gertrud gudrun hannelore heidi hildegard ilse inge irmgard jana johanna julia jutta käthe katharina kristina lena lea leonie lieselotte lina luisa magdalena maike manuela margarete marie marianne " +
  "marlene mareike marta melanie mira miriam nadine nele paula pia ramona regina rita rosemarie ruth sandra sarah silvia svenja theresa ute veronika vera waltraud wiebke yvonne annika annegret anneliese anne amelie antonia " +
  "emilia emma friederike greta hanna ida isabell janina jasmin josefine karla klara laura luise lisa lotte mathilda maja mia sophie steffi " +
  // French
  "jean pierre michel andré andre philippe rené louis alain jacques bernard marcel daniel roger robert paul claude christian henri georges nicolas françois francois jérôme jerome laurent frédéric frederic olivier " +
  "pascal thierry éric stéphane stephane didier gilles patrice serge guy gérard gerard yves bruno denis hervé herve christophe sébastien sebastien guillaume julien romain mathieu matthieu maxime alexandre antoine thomas " +
  "clément clement vincent benoît benoit damien cédric cedric fabien franck ludovic raphaël raphael jérémy jeremy kévin quentin hugo lucas théo theo léo enzo nathan baptiste arthur gabriel jules adrien aurélien " +
  "aurelien anthony arnaud bertrand charles cyril dominique édouard edouard émile étienne etienne fabrice gaël gaëtan gautier grégory ismaël joël josé léon loïc loic lucien marc martial maurice noël norbert pascale régis " +
  "remi rémi rémy robin rodolphe samuel simon sylvain tanguy thibault thibaut tristan valentin victor xavier yann yannick marie jeanne françoise francoise monique catherine nathalie isabelle jacqueline anne sylvie martine madeleine " +
  "nicole suzanne hélène helene christine marguerite denise louise christiane yvonne valérie valerie sophie sandrine stéphanie stephanie céline celine véronique veronique chantal patricia brigitte annie julie aurélie " +
  "aurelie caroline laurence émilie emilie audrey claire camille léa lea manon chloé chloe inès ines océane mathilde pauline lucie margaux juliette élodie elodie amandine amélie anaïs anaelle ariane bénédicte " +
  "béatrice beatrice bernadette capucine cécile cecile charlène charlotte clémence colette corinne delphine diane élise éliane elsa estelle eugénie fabienne florence gaëlle geneviève ghislaine ginette gisèle huguette irène jade " +
  "joséphine justine karine laetitia laure liliane lise lola louna magali marion mélanie michèle mireille morgane muriel myriam nadine nadège noémie odette odile pascaline paulette perrine rachel raymonde " +
  "rolande rosalie roxane sabrina salomé séverine simone solange solène sonia suzette sylviane tiphaine vanessa viviane yvette zoé " +
  // Spanish
  "antonio manuel jose josé francisco juan david javier daniel carlos jesús jesus alejandro miguel rafael pablo pedro ángel angel fernando sergio luis jorge alberto álvaro alvaro diego adrián adrian raúl raul iván ivan " +
  "enrique rubén ruben óscar ramón ramon vicente andrés andres joaquín joaquin santiago eduardo víctor roberto jaime mario ignacio alfonso salvador ricardo marcos jordi emilio julián guillermo gabriel tomás tomas agustín " +
  "agustin gonzalo félix mohamed hugo martín lucas mateo leo nicolás nicolas izan aitor alonso arturo benito bernardo borja césar cesar claudio cristian cristóbal domingo eloy ernesto esteban eugenio federico felipe " +
  "gerardo germán gregorio héctor hector hernán ismael iker isidro íñigo lorenzo luciano mariano matías maximiliano moisés nacho néstor octavio patricio rodrigo rogelio samuel saúl sebastián simón teodoro unai ximo xavi " +
  "maría maria carmen ana isabel dolores pilar josefa teresa rosa ángeles cristina laura antonia mercedes elena concepción lucía lucia francisca marta rosario raquel pilar manuela juana beatriz rocío rocio encarnación nuria " +
  "silvia julia patricia montserrat irene mónica monica yolanda inmaculada sonia eva alicia andrea ángela angela sara amparo susana marina esther margarita paula alba natalia inés emilia victoria noelia catalina " +
  "gloria sandra consuelo araceli aurora belén blanca candela carla carlota carolina celia clara claudia daniela diana elisa elvira esperanza estefanía fátima gabriela graciela guadalupe ingrid jimena josefina leire leticia lidia lola lorena " +
  "luisa macarena magdalena maite marisol martina miriam nerea noa olga paloma paola rebeca regina rosalía ruth soledad sofía sofia tamara valentina valeria vanesa verónica veronica virginia ximena yaiza zaira " +
  // Italian
  "giuseppe giovanni antonio mario luigi francesco angelo vincenzo pietro salvatore carlo franco domenico bruno paolo michele giorgio aldo sergio luciano andrea marco alessandro luca matteo lorenzo davide simone federico riccardo " +
  "gabriele stefano fabio roberto massimo daniele claudio maurizio alberto giacomo filippo tommaso edoardo leonardo mattia nicola emanuele christian enrico gianluca gianni giancarlo gianfranco giulio guido ivano jacopo lamberto " +
  "leandro livio manuel marcello massimiliano mauro mirko nicolò niccolò orazio oreste osvaldo pasquale piero pierluigi raffaele renato renzo rocco romano ruggero samuele sandro saverio silvano silvio tiziano ugo umberto valerio " +
  "vito vittorio achille adriano alessio alfredo amedeo armando arturo attilio augusto beniamino benedetto bernardo biagio corrado dario diego dino donato egidio elia emilio enzo ernesto ettore eugenio ezio fabrizio ferdinando flavio fulvio gaetano " +
  "maria anna giuseppina rosa angela giovanna teresa lucia carmela caterina francesca anna antonietta carla elena concetta rita margherita franca paola giulia chiara sara martina silvia elisa alessia federica alice " +
  "valentina eleonora roberta daniela alessandra laura simona barbara cristina monica stefania sabrina patrizia antonella claudia cinzia donatella emanuela emma aurora ginevra beatrice gaia greta giorgia matilde vittoria " +
  "arianna asia bianca camilla carlotta cecilia costanza debora elisabetta erica fabiola fiorella flavia gabriella gianna gioia giuliana graziella ilaria irene isabella ivana letizia lidia liliana livia loredana lorenza luisa manuela mara marcella " +
  "mariangela marina marisa marta michela milena mirella miriam morena nadia nicoletta noemi ornella pamela piera raffaella rebecca romina rosalba rosanna rossella serena silvana sofia sonia susanna tatiana tiziana veronica viola viviana " +
  // Portuguese
  "joão joao josé antónio antônio manuel francisco carlos pedro paulo luís luis rui miguel ricardo tiago andré bruno nuno diogo rafael gonçalo hugo vítor vitor jorge fernando daniel marco rodrigo duarte tomás afonso martim " +
  "santiago salvador gabriel lucas mateus guilherme gustavo felipe filipe leonardo marcelo márcio marcos eduardo roberto sérgio sergio alexandre anderson fábio fabio flávio caio breno arthur artur bernardo davi enzo heitor henrique " +
  "ivo jaime joaquim júlio leandro lourenço luiz marcio mário maurício mauricio murilo otávio renan renato rogério rogerio samuel sebastião simão thiago valter vicente vinícius vinicius wagner wellington wesley xavier " +
  "maria ana mariana beatriz inês matilde leonor carolina catarina sofia joana marta rita sara francisca juliana fernanda patrícia patricia aline bruna camila amanda letícia leticia larissa gabriela adriana vanessa luciana " +
  "márcia marcia sandra cláudia claudia sónia sônia sonia teresa helena isabel fátima lurdes paula cristina margarida manuela alice lara madalena raquel filipa andreia antônia aparecida bárbara benedita bianca célia clarice " +
  "conceição cecília daniela débora denise elaine eliane elisabete emília érica evelyn fabiana flávia giovana glória graça heloísa isabela isadora janaína jéssica júlia jussara karina laís lívia lorena lourdes luana lúcia luísa luiza " +
  "lygia manuella marina mônica natália nathália nicole olívia priscila rafaela regina renata rosana rosângela sabrina silvana silvia simone sílvia socorro solange susana tainá tânia tatiana tereza thaís valentina valéria vera vitória yasmin zulmira " +
  // More names from public registers
  "randall randy lamar darnell jamal tyrone malik khalil tariq rashad deandre marquis terrell cornelius delbert elmer floyd garrett irving jarvis kendall lonnie mervin orville quincy rudy rufus sammy sheldon sherman thurman wilbur woodrow " +
  "madelyn madeline addison aubrey avery brooklynn delilah elsie genevieve gwendolyn hailey kaylee kendra kiara lacey latoya leila lillian lilly lila mabel maeve mckenna nadine noelle ophelia rhonda roberta rochelle rosa sadie serena shelby sherri skylar " +
  "tabitha tamara tasha tiffany trisha velma wilma yolanda zelda keisha ebony imani precious shanice bertha ethel gladys edna thelma agnes beulah doreen eunice geraldine hilda irma loretta lucille mildred myrtle nellie opal pauline phyllis " +
  "sönke soenke hauke fiete momme torge gero götz gunnar gunther lennart lennox levin lutz marten marvin milan momo neele odin piet ronny roman silas sören soeren steffen sten swen tammo thilo tjark uli veit wigand wolf wolfram yannic " +
  "annemarie annette ariane bärbel belinda berit carina charlott corinna dagmar denise dörte edda elena elfriede elisa ellen elli esther evelin fenja finja frauke freya gesa gesine gitta gundula hedwig heidrun helene hella henriette hermine ilka ilona imke " +
  "inka inken insa irina isabelle jessica josephine judith juliane jule karoline kathleen kira kirsten larissa liane lilli lia liv lore lydia madeleine mandy margit margot marina marion marita mechthild merle michaela milena mirja nadja natalie nicola nina " +
  "patricia peggy petra philine ramona rebecca ricarda romy ronja rosalie roswitha sabrina sarina saskia selma senta sibylle sina sofie sonja stella swantje sybille tabea tamara tatjana thea tina tomke trude undine vanessa viktoria wilma yvette zita " +
  "adélaïde agathe agnès alban alfred aliénor amaury ambre amandin anatole angélique anselme apolline armand armelle astrid aude augustin aymeric basile bastien bérénice bérengère blaise blandine boris brice candice carine cassandre célestin céleste charles " +
  "clarisse claudine clotilde coralie cyprien cyrille dimitri donatien edgar edmond édith éléonore eliott éloïse émeline emmanuel emmanuelle erwan ernest estelle étiennette eudes fabiola faustine félicien félicité fernand flavie flavien florent florian florine foulques " +
  "gaspard gaston gautier géraldine germaine gontran gwenaëlle gwendoline henriette hubert hyacinthe isaline jacinthe jean-marc jocelyne joachim joséphine judith julienne lambert léonie léopold lilian lilou lionel lorraine louison lucile ludivine lydie maëlle maëlys maël " +
  "malo manon marceau marcelle marine marius marlène marthe mathias mathieu maud maxence melchior mélissa micheline mylène nathanaël nicole nina noa noah noémie octave ondine pacôme paul-henri perrine philibert philomène prudence quitterie raoul régine " +
  "renaud reine roseline sacha salomé sarah séraphine solène sophia stanislas suzie sylvie sylvestre tancrède tatiana théodore théophile tiphaine toussaint ulysse urbain valère victoire victorien violette virginie vivien wilfried yaël yoann yohan yolande ysaline zacharie " +
  "abel abril adela adolfo adriana agustina aída alana alejandra alfredo alma almudena amalia amanda amaya américa anabel anastasio andrea anselmo ariadna ariel armando arturo asunción azucena baltasar bárbara basilio benjamín berta bruna camila camilo caridad carina " +
  "casandra cayetana cecilia cecilio clemente clotilde conchita cruz daniela darío débora delia edgar edmundo elías eliseo eloísa elsa emiliano emma erika ester eulalia eusebio eva fabián fabio faustino fermín fidel florencia florencio francesca " +
  "fulgencio génesis genoveva gilberto gisela greta herminia hilario horacio hortensia humberto ian ignacia inmaculada isaac isaías isaura jacinta jacinto jacobo jazmín jeremías joaquina joel jonás jordán josué juanita julia juliana julieta julio justo ladislao lara laureano lázaro " +
  "leandro leocadia leonor leopoldo liliana lisandro luciana luisa lourdes luz magdalena malena manolo maribel maricarmen marcela marcelino marcelo marco mariano mariana mauricio máximo melchor melisa micaela milagros minerva miriam modesto nahia nieves nora norma odalys ofelia olivia " +
  "omar onofre oriol pascual patricio paulina perla petra primitivo purificación ramiro remedios reyes rita robustiano romina roque rosalba rosalinda rosana rosaura ruperto samanta santos sabina sancho selena serafín severino silvestre sol susana tadeo teófilo trinidad úrsula uriel valentín valerio " +
  "vega ventura violeta wenceslao wilfredo xiomara yago yesenia yolanda zacarías zoe zulema " +
  "adele adelaide agata agnese agostino alberta alda aldo alessandro alfonso alma amalia ambra ambrogio anastasia annalisa annamaria annunziata antonina antonino arcangelo armida arnaldo artemisia assunta augusta azzurra beniamina bettina brigida bruna calogero carmelina carmelo carmine catia celeste cesare cesira " +
  "cira ciro clara clelia cleofe corinna cosimo cristian cristiano damiano danila danilo daria deborah delfina desiderio diana diletta domenica edda edgardo elda eleonora elettra elio elsa elvira emilia enrica erminia erminio ersilia erika ettore eufemia eva evelina fausta fausto fedele felice ferruccio fiamma filomena fiorenza fiorenzo " +
  "fortunata fosca fulvia furio gavino gemma genoveffa germana germano gerardo gervasio gilda gino giordano giosuè gisella giuditta giulietta giuseppa giusto glauco grazia gregorio gualtiero iacopo igor ilario ileana immacolata ines iole iolanda ippolito isa isidoro italo ivan ivo lea lia lelia leone leonida " +
  "leopoldo liberato licia lina linda lino livia luana luce luciana ludovica ludovico luigia maddalena mafalda manfredi manfredo manlio marcellina mariano marianna mariella marilena marino marzia maura melania melissa mercede michelangelo mila miranda modesto moreno muzio natale natalia nazzareno nerina nestore nicolina nino norma nunzia nunzio " +
  "olga olimpia olindo omar ottavia ottavio palmira paride patrizio perla petronilla pia pio priamo primo quirino quinto raimondo rachele radames remo regina renata ricciarda rinaldo rodolfo romilda romeo romolo rosaria rosario rosetta rosita rosolino rufino sabatino sabino salvatrice samanta sante santina santo sarita saverio sebastiana secondo selvaggia selene " +
  "settimio severino sibilla silvestro sirio siro soave solange sveva tarquinio tea tecla teodora teodoro teresio tosca tranquillo tullia tullio ubaldo ulrico urbano ursula vera verdiana vincenza violante virgilio virginio vitale vitalba viviana walter wanda yvonne zaira zita " +
  "abílio adelaide adelino adélia adriano aida albano alberto alda alfredo almerinda álvaro amadeu amália amélia américo anabela anacleto angélica aníbal anselmo antero aristides armando arnaldo artur augusta aurélio aurora belmiro benedito benjamim bento berta brás carmen carmo casimiro cátia celeste celestino clotilde constança " +
  "custódio cristiano dália damião dário delfim deolinda diamantino dinis dora edite edgar edmundo elias elsa ema emanuel emanuela emília ermelinda ester estêvão eugénia eugénio eunice eva fausto feliciano felisberto fernão firmino flora florbela francisca frederico gaspar germano gil gilberto gisela graciete guiomar henriqueta hermínia higino " +
  "horácio humberto ilda ildefonso iolanda iria irene ismael ivone jacinta jacinto jaime joel jordana jorgina josefa josué judite juliana julieta laurinda lauro leonel leopoldina lia lídia lígia lina lino liliana lorena lucília lucinda ludovina luísa madalena magda manoel marcelina maria marília mário marisa márcia mateus matias " +
  "maximiano melissa mércia micaela milena milton mirela moisés morgana narciso natacha natércia nélia nélson nelson noémia norberto odete olinda olívio orlando oscar osvaldo otília palmira pascoal patrício paula paulina petra piedade porfírio quitéria quirino raimundo ramiro raul rebeca regina reinaldo remígio rodolfo rolando romana romeu romão rosália " +
  "rosalina rosário ruben rúben rute sabrina salomão salomé selma serafim severina sidónio silvério silvestre sílvio simão simone soraia susete tadeu tália telma teodoro teófilo tito tobias tomásia ubaldo urbano ursulina valdemar valério vânia vasco veridiana veríssimo violeta virgínia virgílio viviana vladimiro xénia zacarias zeferino zélia zita " +
  "alessandra anderson ayrton cássio cauã cauê clara cléber cristiane danilo dirceu edson elisa emanuelly enzo erick eudes evandro ezequiel fabrício félix feliciano gael geraldo gilson giovanna hélio hélia iara igor isaac isis isabelly ítalo jacira jefferson jerônimo joaquina jonas josiane juçara karla kauã kelly lavínia lorraine lucca luna maitê manoela maísa " +
  "marcela marli meire mirella moacir morgana nelson nilton norberto núbia otto pablo pâmela paulino pietro pietra raí raul rayssa ricardo roberta rodolfo rúbia sarah selma silas sirlei stella sueli suélen talita tarcísio théo ulisses vicente victor vinicius viviane yago yuri " +
  // Dutch, Nordic, Polish and others of Europe
  "jeroen sander joost maarten pieter willem hendrik gijs bram daan sem thijs ruben koen bas wouter femke sanne lotte anouk marijke saskia annelies ingeborg johan lars erik anders björn bjorn gustav nils magnus mikael " +
  "oskar fredrik henrik kristian søren jørgen mads rasmus astrid freja ingrid karin kerstin sigrid linnea malin maja elin frida piotr krzysztof andrzej tomasz jan stanisław paweł marcin michał grzegorz jerzy tadeusz adam łukasz " +
  "zbigniew ryszard kamil mateusz marek dariusz henryk mariusz kazimierz wojciech robert rafał jakub maciej bartosz katarzyna małgorzata agnieszka barbara krystyna ewa elżbieta zofia teresa magdalena joanna janina monika danuta " +
  "jadwiga aleksandra halina irena beata dorota jolanta wanda kinga ola ivan dmitri dmitry sergei sergey vladimir mikhail nikolai alexei alexey aleksandr olga tatiana svetlana natalia irina ekaterina anastasia oksana " +
  "milan zoran goran dragan petar marko ivana milica jelena jana petr pavel tomáš jiří zdeněk lenka zuzana istván lászló zoltán katalin ildikó andrás gábor ion mihai andrei elena ioana georgios nikos dimitris kostas eleni maria katerina " +
  // India, the Arab world, Turkey, Iran, Africa, East Asia, in Latin letters
  "rahul amit priya raj rajesh suresh ramesh sanjay vijay anil sunil arjun rohan rohit vikram aditya karan ravi deepak manish ashok ajay arun ganesh gopal harish kiran krishna lakshmi mahesh mohan mukesh naresh nikhil nitin pankaj " +
  "prakash pradeep praveen rakesh sachin sandeep satish shyam siddharth srinivas subramaniam vinod vivek yash anita anjali aishwarya ananya asha deepa deepika divya geeta kavita kavya lata meena meera neha nisha pooja preeti radha " +
  "rekha ritu sangeeta seema shalini shreya sita smita sneha sunita swati uma usha vandana vidya aarav ishaan mohammed muhammad mohamed mohammad ahmed ahmad ali hassan hussein omar khalid ibrahim yusuf youssef mustafa mahmoud abdullah " +
  "tariq karim rashid samir bilal hamza zainab fatima aisha khadija maryam layla leila noor nour amina yasmin samira rania huda salma mehmet ahmet mustafa emre murat hakan serkan burak cem deniz ayşe ayse fatma zeynep elif merve esra " +
  "selin reza hossein mehdi shirin parisa darius cyrus nasrin kwame kofi chinedu chidi ngozi amara oluwaseun adebayo femi tunde emeka ifeoma thabo sipho nomsa zanele wei ming jing hui xiaoming hiroshi takashi kenji yuki akiko haruka satoshi " +
  "yuko naoko kazuki sakura minh nguyen linh thanh huong jiho minjun seojun soyeon jihye minji hyun ravindra kumar imran farhan nadia salim usman zahra";

/** Names that are more often other words; they need a cue before them. */
const ambiguous = new Set(
  (
    "will mark bill art grace rose ruby amber jordan austin max grant dean guy hunter mason miles may april june august dawn joy faith hope iris ivy holly jasmine lily olive pearl violet summer autumn frank jack rob drew chase chance cash rich ray " +
    "roy gene glen cliff dale lane lance pat sue sky storm scout page paige carter cooper parker taylor tyler morgan kelly georgia victoria charlotte virginia florence sydney madison jackson lincoln paris london asia india china carolina dakota " +
    "phoenix brooklyn chelsea savannah sierra montana israel san santa van don sal jo kit mike alpha logan leo wei ming hui linh ion jan mar ali noor dan ken ben sam ole kay robin penny jade mercedes santiago nova alba blanca jasper ginger " +
    "jenkins christian roman constant major baptiste pascal art blake elif lauren kim dot matt leo val reed clay brook heath dean miller claude"
  ).split(" "),
);

let known: Set<string> | null = null;

/** @param word in any case. `sure`: rarely anything but a name. */
export function givenName(word: string): "sure" | "ambiguous" | null {
  known ??= new Set(names.split(" "));
  const name = word.toLowerCase();
  if (!known.has(name)) {
    // Double names such as Jean-Pierre and Ana-Maria are as certain as their parts.
    if (!name.includes("-")) return null;
    const parts = name.split("-");
    return parts.length <= 3 && parts.every((part) => known?.has(part)) ? "sure" : null;
  }
  return ambiguous.has(name) ? "ambiguous" : "sure";
}
