import { randomBytes } from 'node:crypto'
import type { Mode } from '@pohf/protocol'
import { hashKey } from '../src/platform/keys.ts'
import type { Answered, Harness } from './harness.ts'
import { openBrowser } from './member.ts'
import { makeView } from './views.ts'

type Owner = { readonly agentId: `agt_${string}`; readonly mode: Mode }

/** A person who is enrolled at this agent and signed in, put there without the ceremonies: they have tests of their own. */
export const makeWorker = async (harness: Harness, home: Owner) => {
  const personId = randomBytes(32).toString('base64url')
  const token = randomBytes(32).toString('base64url')
  const memberId = harness.ctx.ids.make('mem_')
  await harness.owner.query('insert into people (person_id) values ($1)', [personId])
  await harness.owner.query(
    `insert into members (agent_id, mode, member_id, status, person_id, uniqueness, methods, passkey_assurance,
       attention_session, attention_quality, attention_scoring, attention_at, consented_at)
     values ($1, $2, $3, 'enrolled', $4, 'device', '{passkey,attention}', 'software', 'ses_x', 0.9, 'test', pohf_now(), pohf_now())`,
    [home.agentId, home.mode, memberId, personId],
  )
  await harness.owner.query(
    "insert into person_logins (token_hash, person_id, expires_at) values ($1, $2, pohf_now() + interval '365 days')",
    [hashKey(token), personId],
  )
  const { origin } = openBrowser(harness)
  const cookie = `__Host-pohf_me=${token}`
  const post = (path: string, body: unknown, from = origin): Promise<Answered> =>
    harness.call('POST', `/api/work/${path}`, { body, headers: { origin: from, cookie } })
  const worker = {
    personId,
    memberId,
    cookie,
    get: (path: string): Promise<Answered> =>
      harness.call('GET', `/api/work/${path}`, { headers: { cookie } }),
    post,
    claim: (workflowId: string, mode: Mode = home.mode) => post('claim', { workflowId, mode }),
    /** A recording of this work, as scoring would leave it. */
    record: async (
      assignment: { readonly site: string; readonly challenge: string },
      measured: Parameters<typeof makeView>[2] = {},
    ): Promise<string> => {
      const agentId = assignment.site as `agt_${string}`
      const { challenge } = assignment
      const made = await makeView(
        harness,
        { agentId, mode: home.mode },
        { kind: 'work', challenge, ...measured },
      )
      return made.sessionId
    },
    deliver: (assignmentId: string, sessionId: string, answer: unknown) =>
      post(`assignments/${assignmentId}/deliver`, { sessionId, answer }),
    /** Claims, does it and hands it in. */
    work: async (workflowId: string, answer: unknown): Promise<Answered> => {
      const claimed = await worker.claim(workflowId)
      if (claimed.status !== 200) return claimed
      return worker.deliver(claimed.json.assignmentId, await worker.record(claimed.json), answer)
    },
  }
  return worker
}
export type TestWorker = Awaited<ReturnType<typeof makeWorker>>
