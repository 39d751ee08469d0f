import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { envelopeHash, type ActionType, type Envelope } from '@pohf/verify/approvals'
import { mintApproval, type MintedPart } from '../../../verify/test/approvals/approval.ts'
import { makeIssuer, type Issuer } from '../../../verify/test/issuer.ts'

/** A service of its own that speaks the protocol of approvals, signs with real keys, and lies where a test says so. */
export type Answer = {
  approvalId: string
  mode: string
  status: string
  envelope: Envelope
  envelopeHash: string
  definition: ActionType | null
  decisions: { decision: string; words: string | null; pohf_jwt: string | null }[]
  consumableAt: string | null
}
export type Call = { readonly name: 'create' | 'read' | 'consume'; readonly body: Record<string, unknown> }
type Reply = { readonly status: number; readonly body: unknown }

export type Behaviour = {
  /** What changes between the request and the envelope. */
  readonly envelope?: (envelope: Envelope) => Envelope
  /** What each credential says, by approver. */
  readonly minted?: (ref: string) => MintedPart
  /** The approvers who decide; both of them, if it is left out. */
  readonly deciders?: readonly string[]
  /** How often the approval is read as pending before it is decided. */
  readonly pendingReads?: number
  readonly answer?: (answer: Answer, call: Call) => unknown
  /** Takes the place of an answer. */
  readonly reply?: (call: Call, count: number) => Reply | 'hang' | 'close' | undefined
  readonly signer?: Issuer
  readonly isRevoked?: true
}

const definition: ActionType = {
  type: 'invoice.pay',
  version: 1,
  title: 'Pay an invoice',
  labels: { '/amount': 'Amount' },
  critical: ['/amount', '/to'],
}
export const approvers = ['apv_anna', 'apv_ben'] as const

const readBody = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
}

const textOf = (value: unknown, otherwise = ''): string => (typeof value === 'string' ? value : otherwise)

const envelopeOf = (body: Record<string, unknown>): Envelope => {
  const policy = { quorum: 1, minSeconds: 0, passkey: 'any' as const, delaySeconds: 0 }
  const decideBy = textOf(body['decideBy'], new Date(Date.now() + 3_600_000).toISOString())
  return {
    audience: textOf(body['audience'], 'agt_self'),
    requestId: String(body['requestId']),
    salt: randomBytes(16).toString('base64url'),
    type: String(body['type']),
    typeVersion: 1,
    action: body['action'] as Envelope['action'],
    approvers: (body['approvers'] as string[] | undefined) ?? [...approvers],
    policy: { ...policy, ...(body['policy'] as object | undefined) },
    decideBy,
    consumeBy: new Date(Date.parse(decideBy) + 3_600_000).toISOString(),
    words: { title: textOf(body['title']), summary: textOf(body['summary']) },
  }
}

const send = (response: ServerResponse, { status, body }: Reply): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

const mintDecision = async (
  { signer, minted }: Behaviour,
  issuer: Issuer,
  { approvalId, envelope }: Answer,
  ref: string,
): Promise<Answer['decisions'][number]> => {
  const part: MintedPart = minted?.(ref) ?? {}
  const approval: Record<string, unknown> = { id: approvalId, decision: 'approve', ...part.approval }
  const more = { status: { status_list: { idx: 1, uri: issuer.statusUri } }, ...part.more }
  const shown = { envelope, definition: { ...definition, type: envelope.type } }
  return {
    decision: textOf(approval['decision']),
    words: approval['decision'] === 'deny' ? 'Wrong account.' : null,
    pohf_jwt: await mintApproval(signer ?? issuer, shown, ref, { ...part, approval, more }),
  }
}

/** The state of the service, and its three operations. */
const makeService = (behaviour: Behaviour, issuer: Issuer) => {
  const approvals = new Map<string, Answer>()
  let reads = 0

  const decide = async (answer: Answer): Promise<void> => {
    for (const ref of behaviour.deciders ?? approvers)
      answer.decisions.push(await mintDecision(behaviour, issuer, answer, ref))
    answer.status = answer.decisions.some(({ decision }) => decision === 'deny') ? 'denied' : 'approved'
    answer.consumableAt = new Date(Date.now() - 1).toISOString()
  }

  return {
    create: async (body: Record<string, unknown>): Promise<Answer> => {
      const made = envelopeOf(body)
      const envelope = behaviour.envelope?.(made) ?? made
      const answer: Answer = {
        approvalId: `apl_${approvals.size + 1}`,
        mode: 'live',
        status: 'pending',
        envelope,
        envelopeHash: await envelopeHash(envelope),
        definition,
        decisions: [],
        consumableAt: null,
      }
      approvals.set(answer.approvalId, answer)
      return answer
    },
    read: async (id: string): Promise<Answer | undefined> => {
      const answer = approvals.get(id)
      reads += 1
      if (answer?.status === 'pending' && reads > (behaviour.pendingReads ?? 0)) await decide(answer)
      return answer
    },
    consume: (id: string, body: Record<string, unknown>): Answer | undefined => {
      const answer = approvals.get(id)
      if (answer?.status !== 'approved' || body['envelopeHash'] !== answer.envelopeHash) return undefined
      answer.status = 'consumed'
      return answer
    },
  }
}

const readCall = async (
  request: IncomingMessage,
  pathname: string,
): Promise<Call & { readonly id: string }> => {
  const [, id = '', action] = /^\/api\/agents\/approvals(?:\/(\w+))?(\/consume)?$/.exec(pathname) ?? []
  const name = action ? 'consume' : request.method === 'POST' ? 'create' : 'read'
  return { name, id, body: await readBody(request) }
}

/** The files that everybody can read; undefined for other paths. */
const fileOf = (pathname: string, issuer: Issuer, { isRevoked }: Behaviour): unknown => {
  if (pathname === '/.well-known/jwks.json') return issuer.jwks
  if (pathname.startsWith('/status/')) return issuer.statusToken(isRevoked ? [[1, 1]] : [])
  return pathname === '/api/agents/approver-groups' ? { groups: [{ name: 'finance', approvers }] } : undefined
}

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export const startApprovalServer = async (behaviour: Behaviour = {}) => {
  const calls: Call[] = []
  const server = createServer()
  const baseUrl = await listen(server)
  const issuer = makeIssuer(baseUrl)
  const service = makeService(behaviour, issuer)

  const answerTo = async ({ name, id, body }: Call & { readonly id: string }): Promise<Reply> => {
    const found =
      name === 'create'
        ? service.create(body)
        : name === 'read'
          ? service.read(id)
          : service.consume(id, body)
    const answer = structuredClone(await found)
    if (!answer) return { status: 409, body: { error: 'approval_conflict', message: 'Not in this state.' } }
    return { status: 200, body: behaviour.answer?.(answer, { name, body }) ?? answer }
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', baseUrl)
    const file = fileOf(pathname, issuer, behaviour)
    if (file !== undefined) return send(response, { status: 200, body: file })
    const call = await readCall(request, pathname)
    calls.push(call)
    const reply = behaviour.reply?.(call, calls.filter(({ name }) => name === call.name).length)
    if (reply === 'hang') return
    if (reply === 'close') return void request.socket.destroy()
    send(response, reply ?? (await answerTo(call)))
  }
  server.on('request', (request, response) => void handle(request, response))
  return {
    baseUrl,
    calls,
    stop: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}
