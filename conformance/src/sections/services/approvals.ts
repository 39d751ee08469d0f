import { randomUUID } from 'node:crypto'
import { at, expectEqual, expectThat, listAt, textAt } from '../../expect.ts'
import { testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { RunContext } from '../../run-context.ts'
import type { Section } from '../../statement.ts'

const request = 'POST /api/agents/approvals'
const read = 'GET /api/agents/approvals/{approvalId}'
const consume = 'POST /api/agents/approvals/{approvalId}/consume'
const invite = 'POST /api/agents/approvers'
const knownBadCreate = 'POST /api/agents/approval-known-bad'
const knownBadList = 'GET /api/agents/approval-known-bad'
const report = 'GET /api/agents/approval-report'

const action = { amount: '184200.00', recipient: 'Nordwind GmbH' }

/** Requests an approval of a simulated person in the sandbox. */
const ask = async (world: RunContext, change: object = {}): Promise<HttpResponse> => {
  const { apiKey: key } = await testAgent(world)
  const body = {
    type: 'test.invoice',
    requestId: randomUUID(),
    action,
    approvers: ['apv_test_approves'],
    ...change,
  }
  return world.http.post('/api/agents/approvals', body, { key })
}

const consumeWith = async (
  world: RunContext,
  asked: HttpResponse,
  envelopeHash: string,
): Promise<HttpResponse> => {
  const { apiKey: key } = await testAgent(world)
  return world.http.post(
    `/api/agents/approvals/${textAt(asked.body, 'approvalId')}/consume`,
    { envelopeHash },
    { key },
  )
}

const expectRule = (answer: HttpResponse, status: number, error: string, rule: string): void => {
  expectRefusal(answer, status, error)
  expectThat(
    listAt(answer.body, 'details').some((detail) => at(detail, 'code') === rule),
    `the rule ${rule} in details`,
    answer.text,
  )
}

export const approvals: Section = {
  name: 'POST /api/agents/approvals',
  statements: [
    {
      id: 'approvals.decided',
      title: 'an approved action has the envelope, its hash, and a credential of the decision',
      needs: [request, read],
      isProjectDecision: true,
      run: async (world) => {
        const asked = await ask(world)
        expectStatus(asked, 200)
        expectEqual(textAt(asked.body, 'status'), 'approved', 'the status')
        expectThat(/^[\w-]{43}$/.test(textAt(asked.body, 'envelopeHash')), 'a hash', asked.text)
        expectEqual(textAt(asked.body, 'envelope.action.amount'), action.amount, 'the amount')
        const [decision] = listAt(asked.body, 'decisions')
        expectEqual(textAt(decision, 'decision'), 'approve', 'the decision')
        expectThat(textAt(decision, 'pohf_jwt').split('.').length === 3, 'a JWT', asked.text)
      },
    },
    {
      id: 'approvals.consumed-once',
      title: 'an approval is consumed once, with the hash of its envelope',
      needs: [request, consume],
      isProjectDecision: true,
      run: async (world) => {
        const asked = await ask(world)
        const hash = textAt(asked.body, 'envelopeHash')
        expectRule(await consumeWith(world, asked, 'x'.repeat(43)), 409, 'approval_conflict', 'envelope_hash')
        expectStatus(await consumeWith(world, asked, hash), 200)
        expectRule(await consumeWith(world, asked, hash), 409, 'approval_conflict', 'consumed')
      },
    },
    {
      id: 'approvals.undecided',
      title: 'what waits or was denied is not consumed',
      needs: [request, consume],
      isProjectDecision: true,
      run: async (world) => {
        for (const [approver, rule] of [
          ['apv_test_silent', 'pending'],
          ['apv_test_denies', 'denied'],
        ] as const) {
          const asked = await ask(world, { approvers: [approver] })
          const answer = await consumeWith(world, asked, textAt(asked.body, 'envelopeHash'))
          expectRule(answer, 409, 'approval_conflict', rule)
        }
      },
    },
    {
      id: 'approvals.changed-action',
      title: 'the same request returns the same approval, and a changed action with its reference is refused',
      needs: [request],
      isProjectDecision: true,
      run: async (world) => {
        const requestId = randomUUID()
        const first = await ask(world, { requestId })
        const again = await ask(world, {
          requestId,
          action: { recipient: action.recipient, amount: action.amount },
        })
        expectEqual(textAt(again.body, 'approvalId'), textAt(first.body, 'approvalId'), 'the approval')
        const changed = await ask(world, { requestId, action: { ...action, amount: '284200.00' } })
        expectRule(changed, 409, 'approval_conflict', 'request_id_reused')
      },
    },
    {
      id: 'approvals.numbers',
      title: 'a number that readers round differently is refused',
      needs: [request],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await ask(world, { action: { amount: 1.5 } })
        expectRule(answer, 400, 'approval_refused', 'number')
      },
    },
    {
      id: 'approvals.strictest',
      title: 'an action without a registered type needs two people',
      needs: [request],
      isProjectDecision: true,
      run: async (world) => {
        expectRule(await ask(world, { type: 'shell.run' }), 400, 'approval_refused', 'quorum')
      },
    },
    {
      id: 'approvals.no-key-administers',
      title: 'no key invites an approver, whatever its scopes',
      needs: [invite],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey: key } = await testAgent(world)
        const body = { name: 'Agent', email: 'agent@example.com' }
        expectRefusal(await world.http.post('/api/agents/approvers', body, { key }), 403, 'forbidden')
      },
    },
    {
      id: 'approvals.known-bad-hidden',
      title: 'no key sends, lists or counts known-bad requests, and it finds none to read or consume',
      needs: [knownBadList, knownBadCreate, report, read, consume],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey: key } = await testAgent(world)
        for (const path of ['approval-known-bad', 'approval-report', 'approval-settings'])
          expectRefusal(await world.http.get(`/api/agents/${path}`, { key }), 403, 'forbidden')
        const body = { type: 'test.invoice', action, approvers: ['apv_x'], reason: 'it is known to be bad' }
        expectRefusal(
          await world.http.post('/api/agents/approval-known-bad', body, { key }),
          403,
          'forbidden',
        )
        const unknown = '/api/agents/approvals/apl_known_bad'
        expectRefusal(await world.http.get(unknown, { key }), 404, 'not_found')
        const hash = { envelopeHash: 'x'.repeat(43) }
        expectRefusal(await world.http.post(`${unknown}/consume`, hash, { key }), 404, 'not_found')
      },
    },
  ],
}
