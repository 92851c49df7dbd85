/** Common family names of the supported languages, by frequency. Lower case. */
const names =
  "smith johnson williams jones davis wilson anderson thompson robinson lewis harris clarke hughes edwards evans roberts richardson watson simmons patterson henderson jenkins griffiths sullivan murphy kelley o'brien o'connor o'neill mcdonald " +
  "macdonald campbell mckenzie fitzgerald gallagher kennedy donovan callahan reynolds stevens hawkins hopkins higgins collins phillips mitchell nicholson robertson stephenson ferguson sanderson whitfield whitaker thornton hamilton " +
  "müller mueller schmidt schneider fischer meyer meier maier mayer schulz schulze hoffmann hofmann schäfer schaefer bauer koch richter wolff schröder schroeder neumann schwarz zimmermann braun krüger krueger hartmann lange schmitt krause lehmann köhler " +
  "herrmann könig walter huber kaiser fuchs scholz möller weiß jung hahn keller vogel schubert roth friedrich winkler berger lorenz baumann albrecht schuster simon böhm winter kraus schumacher krämer vogt stein jäger sommer groß seidel brandt " +
  "haas schreiber dietrich ziegler kuhn engel pohl horn busch bergmann voigt sauer pfeiffer hübner hildebrand steiner gruber moser wagner " +
  "martin bernard dubois durand leroy moreau lefebvre lefèvre garnier faure rousseau girard bonnet dupont fontaine chevalier mercier boyer blanchard gauthier perrin morel barbier renaud renard arnaud rolland giraud leclerc lecomte marchand dufour meunier " +
  "brunet gaillard lemaire bertrand masson noël dumas picard aubert rivière lacroix fabre colin vidal caron guérin huet philippe lopez perez sanchez moulin delorme carpentier menard dupuis deschamps schneider vasseur benoit lemoine " +
  "garcía garcia rodríguez rodriguez gonzález gonzalez fernández fernandez lópez martínez martinez sánchez pérez gómez gomez jiménez jimenez ruiz hernández hernandez díaz diaz álvarez alvarez muñoz romero alonso gutiérrez gutierrez navarro torres domínguez dominguez " +
  "vázquez vazquez ramírez ramirez serrano molina suárez suarez ortega delgado castro ortiz rubio marín sanz núñez nuñez medina cortés castillo garrido santana guerrero cano méndez prieto herrera flores peña márquez cabrera gallego vega campos fuentes carrasco caballero nieto pascual aguilar " +
  "herrero lorenzo montero hidalgo giménez ibáñez ferrer durán santiago benítez mora vargas arias crespo rojas mercado salazar acosta morales reyes contreras valdez espinoza quiroga " +
  "rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti de luca mancini costa giordano rizzo lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara galli martini leone longo gentile martinelli vitale lombardo serra coppola " +
  "marchetti parisi villa conte ferraro ferri fabbri bianco marini grasso valentini messina sala gatti pellegrini palumbo sanna farina rizzi monti cattaneo morelli amato silvestri mazza testa grassi pellegrino carbone giuliani benedetti barone rossetti caputo montanari guerra palmieri bernardi martino fiore ferretti " +
  "bellini basile riva donati piras battaglia bianchini orlando castelli sorrentino " +
  "silva santos ferreira pereira oliveira costa rodrigues martins jesus sousa souza fernandes gonçalves goncalves gomes lopes marques alves almeida ribeiro pinto carvalho teixeira moreira correia correa mendes nunes soares vieira monteiro cardoso rocha raposo neves coelho cruz cunha pires ramos reis simões antunes " +
  "matos fonseca machado araújo barbosa tavares lourenço castro figueiredo azevedo freitas magalhães henriques lima barros batista dias campos borges melo moura nascimento cavalcanti lacerda albuquerque guimarães queiroz sampaio siqueira macedo brito xavier " +
  "nowak kowalski kowalska wiśniewski wójcik kowalczyk kamiński lewandowski zieliński szymański novák svoboda horvat kovač nagy kovács popescu ionescu ivanov petrov smirnov kuznetsov jansen janssen visser bakker mulder de jong de vries van dijk " +
  "andersson johansson karlsson nilsson eriksson larsson olsson hansen johansen olsen larsen pedersen andersen nielsen jensen christensen sørensen rasmussen korhonen virtanen nguyen tran sharma patel singh gupta verma reddy iyer nair rao mehta kapoor chatterjee banerjee mukherjee khan ahmed hussain malik sheikh yılmaz yilmaz kaya demir çelik şahin " +
  "wang zhang chen yang huang zhao zhou tanaka suzuki watanabe yamamoto nakamura kobayashi kimura park choi jeong okafor okonkwo adeyemi mensah diallo traoré ndiaye";

/** Family names that are also words, companies or places. */
const others = new Set(
  "stevens collins hamilton wagner stein winter sommer horn busch jung roth engel simon walter martin bernard colin philippe noël rivière fontaine moulin marchand chevalier benoit torres castro medina vega campos fuentes flores peña reyes mora cano cortés rubio costa villa sala testa serra riva conte longo gentile leone greco romano bianco guerra fiore battaglia orlando vitale jesus cruz rocha pinto reis ramos neves lima santos santiago lorenzo " +
    "pascual bruno king lange groß weiß schwarz braun fuchs vogel kaiser könig richter bauer koch keller jäger krause park chen yang kaya demir rao singh khan fischer sanderson ferrari lewis watson jenkins kennedy campbell barone farina amato messina mariani".split(
      " ",
    ),
);

let known: Set<string> | null = null;

/** True for family names that are rarely anything else. @param word in lower case */
export function isFamilyName(word: string): boolean {
  known ??= new Set(names.split(" ").filter((name) => name.length > 3 && !others.has(name)));
  return known.has(word);
}
