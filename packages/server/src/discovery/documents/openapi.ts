import { openApiDocument } from '@pohf/protocol'
import type { DocumentFacts } from './addresses.ts'

type Operation = { readonly operationId: string; readonly 'x-payment-info'?: object }
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

/** The public ids of the operations that answer 402 with a price of their own. */
const paidOperations: ReadonlySet<string> = new Set(['work.task-buy', 'work.task-buy-post'])

/** One offer for each chain. The price is that of the task, so no amount is stated here: the 402 states it. */
const paymentInfo = ({ chains, asset }: DocumentFacts) => ({
  offers: chains.map((network) => ({
    intent: 'charge',
    method: 'x402',
    amount: null,
    currency: asset,
    network,
    description: 'The price of the task, in the 402 response.',
  })),
})

/** OpenAPI as this deployment serves it: the generated document, who serves it, and what is paid where a chain is configured. */
export const servedOpenApi = (facts: DocumentFacts): string => {
  const { baseUrl, chains } = facts
  const document = openApiDocument()
  const withPayment = (operation: Operation): Operation =>
    chains.length > 0 && paidOperations.has(operation.operationId)
      ? { ...operation, 'x-payment-info': paymentInfo(facts) }
      : operation
  const paths = Object.entries(document['paths'] as Paths).map(([path, operations]) => [
    path,
    Object.fromEntries(
      Object.entries(operations).map(([method, operation]) => [method, withPayment(operation)]),
    ),
  ])
  return JSON.stringify({
    ...document,
    'x-service-info': {
      categories: ['identity', 'human-verification', 'human-work'],
      docs: {
        homepage: `${baseUrl}/docs`,
        apiReference: `${baseUrl}/docs/reference/api`,
        llms: `${baseUrl}/llms.txt`,
      },
    },
    paths: Object.fromEntries(paths),
  })
}
