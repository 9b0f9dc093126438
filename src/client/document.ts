/**
 * A document that code generation has typed: an AST (`TypedDocumentNode`) or a text
 * (`TypedDocumentString`, `documentMode: 'string'`).
 */
export interface TypedDocument<Data, Vars> {
  readonly __apiType?: (variables: Vars) => Data;
}

interface Node {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** The text of a document. A printer of its own, so that `graphql` need not be shipped to browsers. */
export function textOf(document: object | string): string {
  return 'kind' in Object(document) ? print(document as Node) : String(document);
}

/** The name of the operation in a document; the server's log and our records go by it. */
export function nameIn(text: string): string {
  const name = /\b(?:mutation|query)\s+(\w+)/.exec(text)?.[1];
  if (name === undefined) throw new TypeError('The operation needs a name.');
  return name;
}

/** GraphQL October 2021, Appendix B; only what executable documents are made of. */
function print(node: Node): string {
  const of = (member: string): string => all(node[member], ' ');
  const list = (member: string, open: string, close: string): string => {
    const inner = of(member);
    return inner && open + inner + close;
  };
  switch (node.kind) {
    case 'OperationDefinition':
      return `${node['operation']} ${of('name')}${list('variableDefinitions', '(', ')')}${of('directives')}${of('selectionSet')}`;
    case 'FragmentDefinition':
      return `fragment ${of('name')} on ${of('typeCondition')}${of('directives')}${of('selectionSet')}`;
    case 'VariableDefinition':
      return `${of('variable')}:${of('type')}${list('defaultValue', '=', '')}${of('directives')}`;
    case 'SelectionSet':
      return `{${of('selections')}}`;
    case 'Field':
      return `${list('alias', '', ':')}${of('name')}${list('arguments', '(', ')')}${of('directives')}${of('selectionSet')}`;
    case 'FragmentSpread':
      return `...${of('name')}${of('directives')}`;
    case 'InlineFragment':
      return `...${list('typeCondition', 'on ', '')}${of('directives')}${of('selectionSet')}`;
    case 'Directive':
      return `@${of('name')}${list('arguments', '(', ')')}`;
    case 'Argument':
    case 'ObjectField':
      return `${of('name')}:${of('value')}`;
    case 'Variable':
      return `$${of('name')}`;
    case 'NamedType':
      return of('name');
    case 'NonNullType':
      return `${of('type')}!`;
    case 'ListType':
      return `[${of('type')}]`;
    case 'ListValue':
      return `[${of('values')}]`;
    case 'ObjectValue':
      return `{${of('fields')}}`;
    case 'StringValue':
      return JSON.stringify(node['value']);
    case 'NullValue':
      return 'null';
    case 'Document':
      return of('definitions');
    default:
      return String(node['value']);
  }
}

function all(member: unknown, between: string): string {
  if (Array.isArray(member)) return member.map(print).join(between);
  return member ? print(member as Node) : '';
}
