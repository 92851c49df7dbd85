import { addPhrase, createPhrases, type Phrases } from "./phrases.ts";

/** Supported languages. */
export type Language = "en" | "de" | "fr" | "es" | "it" | "pt" | "nl" | "pl";

/** The kind of value that a cue announces. */
export type NameCueKind = "given_name" | "full_name" | "weak_name" | "title" | "greeting" | "closing" | "introduction" | "mention";
export type CueKind = NameCueKind | "phone" | "national_id" | "card" | "birth_date" | "account" | "plate" | "coordinates" | "latitude";

export interface Cue {
  readonly kind: CueKind;
  readonly language: Language;
  /** For national ids: the number's id in national-ids.ts. */
  readonly id?: string;
}

const shared: Readonly<Record<string, Readonly<Partial<Record<Language, string>>>>> = {
  phone: {
    en:
      "phone|telephone|tel|mobile|cell|cellphone|fax|whatsapp|call me|call us|call him|call her|call them|text me|reach me|reach us|reach him|reach her|ring me|" +
      "phones|hotline|landline|sms|telephone number|contact number|dial",
    de: "telefon|telefonnummer|tel|handy|handynummer|mobil|mobilnummer|mobiltelefon|festnetz|rufnummer|durchwahl|erreichbar|erreiche mich|erreichst mich|ruf mich|rufen sie|ruf an|rückruf|anrufen|telefonisch",
    fr: "téléphone|telephone|tél|portable|mobile|fixe|joignable|appelez|appelle|appeler|rappeler|rappelez|joindre|numéro de téléphone",
    es: "teléfono|telefono|móvil|movil|celular|llámame|llamame|llámeme|llamar|llame|llamarme|tlf|tfno|contactar",
    it: "telefono|cellulare|cell|chiamami|chiamare|chiamate|chiamarmi|chiami|recapito|recapito telefonico",
    pt: "telefone|telemóvel|telemovel|celular|liga|ligue|ligar|contato|contacto|zap|fone",
    nl: "telefoon|telefoonnummer|mobiel|bel",
    pl: "telefon|komórka|tel kom",
  },
  card: {
    en: "credit card|debit card|card number|card no|visa|mastercard|amex|american express|pan|cc number|card",
    de: "kreditkarte|kreditkartennummer|kartennummer|karte",
    fr: "carte bancaire|carte de crédit|numéro de carte|carte|cb",
    es: "tarjeta|tarjeta de crédito|número de tarjeta",
    it: "carta di credito|carta|numero carta|numero di carta",
    pt: "cartão|cartão de crédito|número do cartão",
  },
  birth_date: {
    en: "dob|date of birth|birth date|birthdate|birthday|born|born on|born in|d o b|birth",
    de: "geburtsdatum|geburtstag|geboren|geboren am|geb|geb am|geburts datum|geb datum|geb dat",
    fr: "né|née|né le|née le|date de naissance|date naiss|naissance|anniversaire",
    es: "nacido|nacida|fecha de nacimiento|fecha nac|f nac|fecha de nac|nacimiento|nació|cumpleaños|nacido el",
    it: "nato|nata|nato il|data di nascita|nascita|compleanno",
    pt: "nascido|nascida|data de nascimento|data nasc|data de nasc|nascimento|nasceu|aniversário",
    nl: "geboortedatum|geboren op",
    pl: "data urodzenia|urodzony|urodzona",
  },
  account: {
    en: "account number|account no|acct|acct no|bank account|account|routing number|routing|aba|sort code|sortcode|checking account|savings account|beneficiary account",
    de: "kontonummer|konto nr|konto|ktonr|kto|kto nr|blz|bankleitzahl|bankverbindung|depotnummer",
    fr: "numéro de compte|compte bancaire|rib|compte|code guichet|code banque",
    es: "número de cuenta|cuenta bancaria|cuenta|ccc|cuenta corriente|nº de cuenta|clabe",
    it: "conto corrente|numero di conto|conto|numero conto",
    pt: "conta|conta corrente|conta bancária|número da conta|nib|agência|conta poupança",
    nl: "rekeningnummer",
    pl: "numer konta|rachunek|nr rachunku",
  },
  plate: {
    en: "license plate|licence plate|number plate|plate number|plate|plates|registration plate|vehicle registration|car registration|vrm|tag number",
    de: "kennzeichen|nummernschild|autokennzeichen|kfz kennzeichen|kfz",
    fr: "plaque|plaque d immatriculation|immatriculation|immatriculée|immatriculé",
    es: "matrícula|matricula|placa|placas",
    it: "targa|targata|targato",
    pt: "matrícula|placa|placa do carro",
    nl: "kenteken",
    pl: "numer rejestracyjny|tablica rejestracyjna",
  },
  coordinates: {
    en: "coordinates|coords|coordinate|gps|geo|location|lat lng|lat lon|latlng|latlong|position|geolocation|geopoint|located at",
    de: "koordinaten|standort|gps koordinaten|position",
    fr: "coordonnées|position|localisation|coordonnées gps",
    es: "coordenadas|ubicación|posición|localización",
    it: "coordinate|posizione",
    pt: "coordenadas|localização|posição",
  },
  latitude: {
    en: "lat|lng|lon|long|latitude|longitude",
    de: "breitengrad|längengrad|breite|länge",
    es: "latitud|longitud",
    it: "latitudine|longitudine",
  },
  /** A single given or family name follows. */
  given_name: {
    en: "first name|last name|firstname|lastname|surname|given name|family name|middle name|maiden name|forename|fname|lname",
    de: "vorname|nachname|familienname|geburtsname|zuname",
    fr: "prénom|prenom|nom de famille|nom de naissance",
    es: "apellido|apellidos|primer apellido|segundo apellido|primer nombre",
    it: "cognome|nome di battesimo",
    pt: "sobrenome|apelido|primeiro nome|último nome",
    nl: "voornaam|achternaam",
    pl: "imię|nazwisko",
  },
  /** A person's name follows, known or not. */
  full_name: {
    en:
      "full name|fullname|customer name|contact person|contact name|patient|patient name|employee|employee name|applicant|tenant|cardholder|cardholder name|card holder|account holder|" +
      "beneficiary|recipient|passenger|guest name|client name|legal name|billing name|shipping name|emergency contact|next of kin|spouse|signed off by|co authored by|reported by|reviewed by|" +
      "acked by|tested by|suggested by|attn|attention|student name|witness|insured|policyholder|borrower|landlord|manager name|person name|display name|real name|customer|contact",
    de:
      "ansprechpartner|ansprechpartnerin|kunde|kundin|kundenname|patientin|mitarbeiter|mitarbeiterin|bearbeiter|bearbeiterin|sachbearbeiter|sachbearbeiterin|kontoinhaber|kontoinhaberin|mieter|mieterin|" +
      "empfänger|empfängerin|antragsteller|antragstellerin|versicherte|karteninhaber|vollständiger name|absender|z hd|bewerber|bewerberin|kontaktperson|gast|inhaber",
    fr:
      "nom complet|nom et prénom|nom du client|client|cliente|patiente|titulaire|bénéficiaire|destinataire|locataire|salarié|salariée|employé|employée|interlocuteur|interlocutrice|" +
      "à l attention de|responsable|candidat|candidate|contact|assuré|assurée",
    es: "nombre completo|nombre y apellidos|nombre del cliente|cliente|paciente|titular|empleado|empleada|beneficiario|beneficiaria|destinatario|destinataria|inquilino|inquilina|solicitante|persona de contacto|contacto|responsable|asegurado",
    it: "nome completo|nome e cognome|cognome e nome|cliente|paziente|intestatario|intestataria|titolare|dipendente|beneficiario|destinatario|destinataria|inquilino|inquilina|referente|richiedente|contatto|assicurato",
    pt: "nome completo|nome do cliente|cliente|paciente|titular|funcionário|funcionária|beneficiário|beneficiária|destinatário|destinatária|inquilino|requerente|pessoa de contato|pessoa de contacto|responsável|contato|contacto|segurado",
    nl: "volledige naam|klant",
    pl: "imię i nazwisko|klient|pacjent",
  },
  /** A name may follow; it must look like one. */
  weak_name: {
    en: "name|author|authors|user|username|owner|from|to|cc|by|maintainer|assignee|assigned to|creator|created by|written by|developer|contributor|committer|manager|reviewer|reporter|copyright|approved by|requested by|submitted by|speaker|sender|doctor|teacher|student|subscriber|member",
    de: "name|autor|autorin|von|an|benutzer|erstellt von|geschrieben von|bearbeitet von|zuständig|verfasser|arzt|ärztin|lehrer|lehrerin",
    fr: "nom|auteur|auteure|de|par|utilisateur|créé par|écrit par|rédigé par|médecin|élève",
    es: "nombre|autor|autora|de|para|por|usuario|creado por|escrito por|médico|alumno|alumna",
    it: "nome|autore|autrice|da|di|per|utente|creato da|scritto da|medico|alunno|alunna",
    pt: "nome|autora|por|usuário|utilizador|criado por|escrito por|médico|aluno|aluna",
    nl: "naam",
    pl: "autor",
  },
  title: {
    en: "mr|mrs|ms|mx|miss|dr|prof|professor|sir|madam|doctor",
    de: "herr|herrn|frau|fr|hr",
    fr: "m|mme|mlle|monsieur|madame|mademoiselle|mm|maître|docteur",
    es: "sr|sra|srta|señor|señora|señorita|don|doña|dña",
    it: "sig|sig ra|signor|signora|signorina|dott|dott ssa|avv|ing",
    pt: "senhor|senhora|exmo|exma|dona|seu|sr a|dra",
    nl: "dhr|mevr|mevrouw|meneer",
    pl: "pan|pani",
  },
  greeting: {
    en: "dear|hi|hello|hey|good morning|good afternoon|good evening|welcome|welcome back|hey there|thanks|thank you|congratulations|happy birthday",
    de: "hallo|liebe|lieber|guten tag|guten morgen|sehr geehrte|sehr geehrter|moin|servus|grüß dich|werte|danke",
    fr: "cher|chère|bonjour|bonsoir|salut|coucou|merci",
    es: "estimado|estimada|querido|querida|hola|buenos días|buenas tardes|apreciado|apreciada|gracias|muy señor mío",
    it: "caro|cara|gentile|egregio|egregia|ciao|buongiorno|buonasera|salve|gentilissimo|gentilissima|grazie|spettabile",
    pt: "prezado|prezada|caro|cara|olá|oi|bom dia|boa tarde|boa noite|querido|querida|obrigado|obrigada|estimado|exmo",
    nl: "beste|geachte|hoi",
    pl: "cześć|szanowny|szanowna|drogi|droga",
  },
  closing: {
    en: "regards|best regards|kind regards|warm regards|sincerely|yours sincerely|yours truly|yours faithfully|best wishes|cheers|thanks|thank you|many thanks|best|all the best|thx|signed|love|respectfully",
    de: "mit freundlichen grüßen|freundliche grüße|viele grüße|liebe grüße|beste grüße|herzliche grüße|schöne grüße|mfg|lg|vg|gruß|gruss|grüße|viele grüsse|hochachtungsvoll|mit freundlichen grüssen|danke|gezeichnet|gez",
    fr: "cordialement|bien cordialement|bien à vous|salutations|sincères salutations|amicalement|respectueusement|bises|merci|salutations distinguées|à bientôt|bonne journée",
    es: "saludos|saludos cordiales|atentamente|un saludo|cordialmente|un abrazo|muchas gracias|gracias|un cordial saludo|firmado|besos",
    it: "cordiali saluti|distinti saluti|saluti|un saluto|cordialmente|grazie|grazie mille|a presto|tanti saluti|firmato",
    pt: "atenciosamente|cumprimentos|com os melhores cumprimentos|abraços|abraço|um abraço|cordialmente|obrigado|obrigada|att|saudações|melhores cumprimentos|beijos|assinado",
  },
  introduction: {
    en: "my name is|name is|i am called|i m|i am|this is|call me|known as|named|speaking with",
    de: "mein name ist|ich heiße|ich heisse|ich bin|name ist|hier ist|hier spricht|namens|heißt",
    fr: "je m appelle|mon nom est|je suis|il s appelle|elle s appelle|c est|ici|nommé|nommée",
    es: "me llamo|mi nombre es|soy|se llama|llamado|llamada",
    it: "mi chiamo|il mio nome è|sono|si chiama|nome è|di nome",
    pt: "meu nome é|chamo me|me chamo|eu sou|o meu nome é|sou|chama se|se chama|sou o|sou a|chamado",
  },
  mention: {
    en: "spoke with|spoke to|talked to|talked with|talk to|speak with|speak to|met with|met|meeting with|ask|asked|contact|told|emailed|email|called|according to|ping|signed by|hired|colleague|friend|wife|husband|son|daughter|brother|sister|boss|daughter|mother|father|and|invite|invited|visited",
    de: "gesprochen mit|mit|frag|fragen|frage|kollege|kollegin|laut|freund|freundin|mann|chef|chefin|sohn|tochter|bruder|schwester|und|bei|wende dich an|treffen mit",
    fr: "avec|parlé à|parlé avec|demande à|demander à|contacter|contactez|collègue|selon|ami|amie|mari|femme|fils|fille|frère|sœur|et|chez|voir",
    es: "con|hablé con|hablar con|pregunta a|preguntar a|contacta a|colega|según|amigo|amiga|marido|esposa|hijo|hija|hermano|hermana|y|compañero|compañera|avisar a",
    it: "con|parlato con|chiedi a|chiedere a|contatta|contattare|collega|secondo|amico|amica|marito|moglie|figlio|figlia|fratello|sorella|e",
    pt: "com|falei com|falar com|pergunta a|perguntar a|contate|contacte|colega|segundo|amigo|amiga|marido|esposa|filho|filha|irmão|irmã|e",
  },
};

/** Cues for national numbers, by their id in national-ids.ts. */
const idWords: Readonly<Record<string, readonly [Language, string]>> = {
  us_ssn: ["en", "ssn|social security number|social security|social security no|soc sec|itin|ssn no|social"],
  de_tax: [
    "de",
    "steuer id|steueridentifikationsnummer|steuerliche identifikationsnummer|steuer identifikationsnummer|identifikationsnummer|idnr|steueridnr|steuer idnr|tin|steuerid",
  ],
  de_tax_number: ["de", "steuernummer|st nr|steuer nr"],
  de_social: [
    "de",
    "sozialversicherungsnummer|rentenversicherungsnummer|sv nummer|sv nr|svnr|rv nummer|versicherungsnummer|sozialversicherungs nr",
  ],
  de_document: [
    "de",
    "personalausweis|personalausweisnummer|ausweisnummer|ausweis nr|ausweis|reisepass|reisepassnummer|passnummer|pass nr",
  ],
  fr_nir: [
    "fr",
    "numéro de sécurité sociale|sécurité sociale|nir|numéro de sécu|sécu|n de sécurité sociale|n sécu|numéro insee|carte vitale",
  ],
  fr_document: [
    "fr",
    "carte d identité|carte nationale d identité|cni|passeport|numéro de passeport|numéro fiscal|numéro de carte d identité",
  ],
  es_dni: ["es", "dni|nif|nie|documento nacional de identidad|documento de identidad|número de identidad"],
  es_social: ["es", "seguridad social|número de la seguridad social|nuss|naf|número de seguridad social"],
  it_cf: ["it", "codice fiscale|cf|cod fisc|c f"],
  it_document: ["it", "carta d identità|carta di identità|documento|passaporto|numero di passaporto|numero documento"],
  uk_nino: ["en", "national insurance number|national insurance|nino|ni number|ni no"],
  uk_nhs: ["en", "nhs|nhs number|nhs no"],
  nl_bsn: ["nl", "bsn|burgerservicenummer|sofinummer|bsn nummer"],
  pl_pesel: ["pl", "pesel|numer pesel"],
  pt_nif: ["pt", "número de contribuinte|contribuinte|número de identificação fiscal|nif"],
  pt_card: ["pt", "cartão de cidadão|cartão do cidadão|bilhete de identidade|cc|bi"],
  br_cpf: ["pt", "cpf|cnpj|cadastro de pessoas físicas|cpf do cliente|cpf nº"],
  br_rg: ["pt", "rg|registro geral|identidade|carteira de identidade"],
  in_aadhaar: ["en", "aadhaar|aadhar|aadhaar number|uidai|aadhaar card"],
  in_pan: ["en", "pan|pan card|pan number|pan no"],
  ch_ahv: ["de", "ahv|ahv nummer|avs|numéro avs|ahv nr"],
  passport: ["en", "passport|passport number|passport no|pasaporte|número de pasaporte|passaporte|numero passaporto|paspoort|paszport"],
  licence: [
    "en",
    "driver s license|drivers license|driver license|driving licence|driving license|driver s licence|license number|licence number|führerschein|führerscheinnummer|permis de conduire|carnet de conducir|permiso de conducir|licencia de conducir|patente|patente di guida|carta de condução|cnh",
  ],
  national: [
    "en",
    "national id|national id number|identity card|id card|id number|identity number|tax id|tax number|taxpayer id|tax identification number|national identity number|personal id",
  ],
};

/** All cues, indexed by phrase; one phrase may be a cue of several kinds and languages. Built on first use. */
let built: Phrases<Cue[]> | null = null;

export function cuePhrases(): Phrases<readonly Cue[]> {
  if (built !== null) return built;
  const byPhrase = new Map<string, Cue[]>();
  const add = (phrases: string, cue: Cue): void => {
    for (const phrase of phrases.split("|")) byPhrase.set(phrase, [...(byPhrase.get(phrase) ?? []), cue]);
  };
  for (const [kind, languages] of Object.entries(shared))
    for (const [language, phrases] of Object.entries(languages)) add(phrases, { kind: kind as CueKind, language: language as Language });
  for (const [id, [language, phrases]] of Object.entries(idWords)) add(phrases, { kind: "national_id", language, id });
  built = createPhrases<Cue[]>();
  for (const [phrase, cues] of byPhrase) addPhrase(built, phrase, cues);
  return built;
}
