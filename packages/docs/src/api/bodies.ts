/** 48 characters stand for the token of a mailed link. */
const mailedToken = 'Zx'.repeat(24)
const signedChunk = { chunk: 'eyJ2IjoxfQ', signature: 'A'.repeat(86) }
const mcpCall = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** Bodies of requests whose schema alone does not say what to send, by the public id of the endpoint. */
export const bodies: Readonly<Record<string, unknown>> = {
  'companies.create': {
    name: 'Acme',
    issuer: 'https://login.example.com',
    domain: 'example.com',
    clientId: 'pohf',
    clientSecret: 'the secret of the client',
  },
  'agents.register': { name: 'My agent', contactEmail: 'me@example.com', mode: 'test' },
  'agents.email-confirm': { token: mailedToken },
  'agents.keys-recover-complete': { token: mailedToken },
  'agents.profile-update': { allowedOrigins: ['https://shop.example'] },
  'approvals.consume': { envelopeHash: 'A'.repeat(43) },
  'approvals.types-write': {
    title: 'Pay an invoice',
    schema: { type: 'object', properties: { amount: { type: 'string' } }, required: ['amount'] },
    critical: ['/amount'],
    policy: { quorum: 1, minSeconds: 5, passkey: 'any', delaySeconds: 0 },
  },
  'approvals.approver-options': { decision: 'approve', viewHash: 'A'.repeat(43) },
  'credentials.bind-transaction': { vt: 'vt_example', paymentRef: 'payment-1' },
  'discovery.mcp': mcpCall,
  'discovery.api-mcp': mcpCall,
  'discovery.mcp-identity': mcpCall,
  'discovery.api-mcp-identity': mcpCall,
  'members.create': { externalRef: 'customer-4711' },
  'questions.quote': { question: 'Is tea a soup?', answerSchema: { type: 'boolean' } },
  'questions.ask': { question: 'Is tea a soup?', answerSchema: { type: 'boolean' }, budgetUsd: 1 },
  'sessions.create': {
    site: 'agt_example',
    key: { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) },
  },
  'sessions.telemetry': signedChunk,
  'sessions.finish': signedChunk,
  'tasks.campaign-create': {
    name: 'Headlines',
    questions: [{ prompt: 'Does the headline fit the text?', options: ['yes', 'no'] }],
  },
  'tracking.conversion': { vt: 'vt_example', name: 'sign-up' },
  'vhh.forwards-order': {
    name: 'Ada Example',
    company: 'Example Ltd',
    email: 'ada@example.com',
    hours: 100,
    month: '2027-03',
  },
  'webhooks.register': { url: 'https://example.com/hook', events: ['*'] },
  'webhooks.update': { events: ['credential.minted'] },
  'work.order': { taskType: 'wf_judge', quantity: 1, items: ['Is a hot dog a sandwich?'] },
  'work.order-fund': { orderId: 'ord_example' },
}
