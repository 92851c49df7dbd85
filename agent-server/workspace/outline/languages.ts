/** A language that tree-sitter parses, and the nodes that are definitions. */
export interface OutlinedLanguage {
  /** Display name: `typescript`, `c++`. */
  readonly name: string;
  /** File of the grammar, without extension. */
  readonly grammar: string;
  /** Node type → kind of definition. */
  readonly definitions: Readonly<Record<string, string>>;
  /** Nodes whose content is not outlined, such as function bodies. */
  readonly closed: ReadonlySet<string>;
}

const closed = (...types: string[]): ReadonlySet<string> => new Set(types);

const ecmaDefinitions = {
  function_declaration: "function",
  generator_function_declaration: "function",
  class_declaration: "class",
  method_definition: "method",
  field_definition: "field",
  variable_declarator: "variable",
} as const;
const typescriptDefinitions = {
  ...ecmaDefinitions,
  abstract_class_declaration: "class",
  abstract_method_signature: "method",
  method_signature: "method",
  property_signature: "property",
  public_field_definition: "field",
  function_signature: "function",
  interface_declaration: "interface",
  type_alias_declaration: "type",
  enum_declaration: "enum",
  internal_module: "namespace",
  module: "module",
} as const;
const ecmaClosed = closed(
  "statement_block",
  "arrow_function",
  "function_expression",
  "object",
  "array",
  "arguments",
  "template_string",
  "formal_parameters",
);

const typescript: OutlinedLanguage = {
  name: "typescript",
  grammar: "tree-sitter-typescript",
  definitions: typescriptDefinitions,
  closed: ecmaClosed,
};
const tsx: OutlinedLanguage = { ...typescript, name: "tsx", grammar: "tree-sitter-tsx" };
const javascript: OutlinedLanguage = {
  name: "javascript",
  grammar: "tree-sitter-javascript",
  definitions: ecmaDefinitions,
  closed: ecmaClosed,
};
const python: OutlinedLanguage = {
  name: "python",
  grammar: "tree-sitter-python",
  definitions: { function_definition: "function", class_definition: "class", assignment: "variable" },
  closed: closed("call", "dictionary", "list", "tuple", "parenthesized_expression"),
};
const go: OutlinedLanguage = {
  name: "go",
  grammar: "tree-sitter-go",
  definitions: {
    function_declaration: "function",
    method_declaration: "method",
    type_spec: "type",
    type_alias: "type",
    const_spec: "constant",
    var_spec: "variable",
    method_elem: "method",
  },
  closed: closed("block"),
};
const rust: OutlinedLanguage = {
  name: "rust",
  grammar: "tree-sitter-rust",
  definitions: {
    function_item: "function",
    function_signature_item: "function",
    struct_item: "struct",
    enum_item: "enum",
    union_item: "union",
    trait_item: "trait",
    impl_item: "impl",
    mod_item: "module",
    const_item: "constant",
    static_item: "variable",
    type_item: "type",
    macro_definition: "macro",
  },
  closed: closed("block", "token_tree"),
};
const java: OutlinedLanguage = {
  name: "java",
  grammar: "tree-sitter-java",
  definitions: {
    class_declaration: "class",
    interface_declaration: "interface",
    enum_declaration: "enum",
    record_declaration: "record",
    annotation_type_declaration: "annotation",
    method_declaration: "method",
    constructor_declaration: "constructor",
    field_declaration: "field",
  },
  closed: closed("block", "constructor_body"),
};
const cpp: OutlinedLanguage = {
  name: "c++",
  grammar: "tree-sitter-cpp",
  definitions: {
    function_definition: "function",
    class_specifier: "class",
    struct_specifier: "struct",
    union_specifier: "union",
    enum_specifier: "enum",
    namespace_definition: "namespace",
    type_definition: "type",
    alias_declaration: "type",
    concept_definition: "concept",
    preproc_def: "macro",
    preproc_function_def: "macro",
    declaration: "declaration",
    field_declaration: "field",
  },
  closed: closed("compound_statement", "initializer_list", "parameter_list"),
};
const csharp: OutlinedLanguage = {
  name: "c#",
  grammar: "tree-sitter-c-sharp",
  definitions: {
    namespace_declaration: "namespace",
    file_scoped_namespace_declaration: "namespace",
    class_declaration: "class",
    struct_declaration: "struct",
    interface_declaration: "interface",
    enum_declaration: "enum",
    record_declaration: "record",
    delegate_declaration: "delegate",
    method_declaration: "method",
    constructor_declaration: "constructor",
    property_declaration: "property",
    event_declaration: "event",
    operator_declaration: "operator",
  },
  closed: closed("block", "accessor_list", "arrow_expression_clause"),
};
const ruby: OutlinedLanguage = {
  name: "ruby",
  grammar: "tree-sitter-ruby",
  definitions: { class: "class", module: "module", method: "method", singleton_method: "method" },
  closed: closed("do_block", "block"),
};
const php: OutlinedLanguage = {
  name: "php",
  grammar: "tree-sitter-php",
  definitions: {
    namespace_definition: "namespace",
    function_definition: "function",
    class_declaration: "class",
    interface_declaration: "interface",
    trait_declaration: "trait",
    enum_declaration: "enum",
    method_declaration: "method",
    property_declaration: "property",
    const_declaration: "constant",
  },
  closed: closed("compound_statement"),
};
const bash: OutlinedLanguage = {
  name: "bash",
  grammar: "tree-sitter-bash",
  definitions: { function_definition: "function" },
  closed: closed("compound_statement"),
};
const powershell: OutlinedLanguage = {
  name: "powershell",
  grammar: "tree-sitter-powershell",
  definitions: { function_statement: "function", class_statement: "class", enum_statement: "enum", class_method_definition: "method" },
  closed: closed("script_block"),
};
const css: OutlinedLanguage = {
  name: "css",
  grammar: "tree-sitter-css",
  definitions: {
    rule_set: "rule",
    media_statement: "media",
    keyframes_statement: "keyframes",
    at_rule: "rule",
    supports_statement: "supports",
  },
  closed: closed("declaration"),
};

const byEnding: Readonly<Record<string, OutlinedLanguage>> = {
  ts: typescript,
  mts: typescript,
  cts: typescript,
  tsx,
  js: javascript,
  mjs: javascript,
  cjs: javascript,
  jsx: javascript,
  py: python,
  pyi: python,
  pyw: python,
  go,
  rs: rust,
  java,
  // The C++ grammar parses both, because there is none for C alone.
  c: { ...cpp, name: "c" },
  h: cpp,
  cc: cpp,
  cpp,
  cxx: cpp,
  hh: cpp,
  hpp: cpp,
  hxx: cpp,
  ino: cpp,
  cs: csharp,
  rb: ruby,
  rake: ruby,
  gemspec: ruby,
  php,
  sh: bash,
  bash,
  zsh: bash,
  ps1: powershell,
  psm1: powershell,
  css,
};

/** Selects by file extension; null when there is no grammar. */
export function languageOf(path: string): OutlinedLanguage | null {
  const ending = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase();
  return ending !== undefined && Object.hasOwn(byEnding, ending) ? (byEnding[ending] ?? null) : null;
}
