/** Typed documents of the stock schema, for Apollo Client, urql, graphql-request and the like. */
export {
  CreatePaymentDocument,
  type CreatePaymentMutation,
  type CreatePaymentMutationVariables,
  PaymentByIdDocument,
  type PaymentByIdQuery,
  type PaymentByIdQueryVariables,
  PaymentByKeyDocument,
  type PaymentByKeyQuery,
  type PaymentByKeyQueryVariables,
  type PaymentFieldsFragment,
  PaymentsDocument,
  type PaymentsQuery,
  type PaymentsQueryVariables,
  type UserErrorFieldsFragment,
} from '../generated/client/graphql.ts';
