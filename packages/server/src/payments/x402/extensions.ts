import { endpoints } from '@pohf/protocol'

// Extensions of x402 version 2. Clients send them back with the payment, in a header: together they stay below 3 KB, and
// ASCII, because some clients encode them with btoa, which takes nothing beyond Latin-1.

const draft = 'https://json-schema.org/draft/2020-12/schema'
const text = { type: 'string' } as const

/** A client may name its payment, so that a second payment under the same name is refused. */
const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema: draft,
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { ...text, minLength: 16, maxLength: 128 } },
    required: ['required'],
  },
} as const

/** What a purchase delivers, in the form that directories of paid services (x402 Bazaar) read. */
const deliveredOutput = {
  info: {
    type: 'json',
    example: {
      pohf_jwt: 'eyJhbGciOiJFUzI1NiJ9...',
      kind: 'purchase',
      purchaseId: 'pur_...',
      answer: { text: '...' },
      payment: { network: 'eip155:84532', transaction: '0x...', payer: '0x...', amount: '10000' },
    },
  },
  schema: {
    type: 'object',
    properties: {
      type: text,
      example: {
        type: 'object',
        properties: {
          pohf_jwt: { ...text, description: 'The credential: an ES256 JWT' },
          kind: text,
          purchaseId: text,
          answer: { description: 'The work, in the form of its task' },
          payment: { type: 'object' },
        },
        required: ['pohf_jwt', 'purchaseId', 'answer', 'payment'],
      },
    },
    required: ['type'],
  },
} as const

const buyPath = endpoints.find(({ id, method }) => id === 'purchases.buy' && method === 'GET')?.path ?? ''

/** The buy endpoint of one workflow for x402 Bazaar; the template makes all workflows one entry of a directory. */
const httpDiscovery = (workflowId: string) => ({
  info: { input: { type: 'http', method: 'GET', pathParams: { workflowId } }, output: deliveredOutput.info },
  schema: {
    $schema: draft,
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: {
          type: { ...text, const: 'http' },
          method: { ...text, enum: ['GET'] },
          pathParams: { type: 'object', properties: { workflowId: text }, required: ['workflowId'] },
        },
        required: ['type', 'method'],
        additionalProperties: false,
      },
      output: deliveredOutput.schema,
    },
    required: ['input'],
  },
  routeTemplate: buyPath.replaceAll(/\{(\w+)\}/g, ':$1'),
})

/** The extensions of every challenge. */
export const extensionsForPayment = { 'payment-identifier': paymentIdentifier } as const

/** The extensions of the challenge for one workflow. */
export const extensionsFor = (workflowId: string) => ({
  ...extensionsForPayment,
  bazaar: httpDiscovery(workflowId),
})
