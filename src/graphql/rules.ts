import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth';
import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';

/** The most a document may hold; the same for every caller. */
export const DOCUMENT_LIMITS = { tokens: 1_000, depth: 12, aliases: 15 } as const;

/**
 * One mutation field per operation: aliases are not a transaction, and one request must not carry
 * fifty payments. Equal fields under one name merge (GraphQL §6.3.2) and count once.
 */
export function oneMutationField(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(node) {
      if (node.operation !== OperationTypeNode.MUTATION) return;
      const names = responseNames(node.selectionSet, context.getDocument(), new Set());
      if (names.size <= 1) return;
      context.reportError(
        new GraphQLError('A mutation operation may have one field only. Send the others apart.', {
          nodes: node,
        }),
      );
    },
  };
}

function responseNames(
  { selections }: SelectionSetNode,
  document: DocumentNode,
  seen: Set<string>,
): Set<string> {
  const names = new Set<string>();
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      if (selection.name.value !== '__typename') {
        names.add(selection.alias?.value ?? selection.name.value);
      }
      continue;
    }
    const inner =
      selection.kind === Kind.INLINE_FRAGMENT
        ? selection.selectionSet
        : spread(selection.name.value, document, seen);
    if (inner === undefined) continue;
    for (const name of responseNames(inner, document, seen)) names.add(name);
  }
  return names;
}

function spread(
  name: string,
  document: DocumentNode,
  seen: Set<string>,
): SelectionSetNode | undefined {
  if (seen.has(name)) return undefined;
  seen.add(name);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name) {
      return definition.selectionSet;
    }
  }
  return undefined;
}

/** By themselves these rules throw, which would look like a failure of ours. */
const AS_ERROR = {
  exposeLimits: true,
  propagateOnRejection: false,
  onReject: [
    (context: ValidationContext | null, error: GraphQLError) => context?.reportError(error),
  ],
};

export const validationRules: ValidationRule[] = [
  oneMutationField,
  maxDepthRule({ n: DOCUMENT_LIMITS.depth, ...AS_ERROR }),
  maxAliasesRule({ n: DOCUMENT_LIMITS.aliases, ...AS_ERROR }),
];
