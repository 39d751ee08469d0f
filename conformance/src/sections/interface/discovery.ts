import {
  at,
  booleanAt,
  countAt,
  expectEqual,
  expectThat,
  filledListAt,
  instantAt,
  listAt,
  recordAt,
  textAt,
} from '../../expect.ts'
import { expectObject, expectStatus } from '../../http.ts'
import type { Section, Statement } from '../../statement.ts'
import { oncePerRun } from '../../run-context.ts'

const discovery = 'GET /api/agents/discovery'
const manifest = oncePerRun((world) => world.http.get('/api/agents/discovery'))

const keys = [
  'service',
  'summary',
  'provides',
  'credential',
  'settlement',
  'endpoints',
  'how_to_transact',
  'contact',
  'docs',
  'status',
  'updated',
]

/** Shared with the section on versions: it is the same guarantee. */
export const updatedTimestamp: Statement = {
  id: 'discovery.updated',
  title: 'the manifest says when it was last changed',
  needs: [discovery],
  run: async (world) => {
    instantAt((await manifest(world)).body, 'updated')
  },
}

/** Shared with the section on limits. */
export const freePlan: Statement = {
  id: 'discovery.free-plan',
  title: 'the free plan is 1000 seals a month without a card, and says where to register',
  needs: [discovery],
  run: async (world) => {
    const plan = recordAt((await manifest(world)).body, 'status.free_plan')
    expectEqual(plan['seals_per_month'], 1_000, 'seals_per_month')
    expectEqual(plan['card_required'], false, 'card_required')
    textAt(plan, 'register')
  },
}

export const serviceManifest: Section = {
  name: 'GET /api/agents/discovery',
  statements: [
    {
      id: 'discovery.served',
      title: 'the manifest is served',
      needs: [discovery],
      run: async (world) => expectObject(await manifest(world)),
    },
    {
      id: 'discovery.keys',
      title: 'the manifest has its eleven keys',
      needs: [discovery],
      run: async (world) => {
        const answer = await manifest(world)
        expectStatus(answer, 200)
        for (const key of keys) expectThat(at(answer.body, key) !== undefined, `the key ${key}`, answer.text)
      },
    },
    {
      id: 'discovery.only-those-keys',
      title: 'the manifest has no other keys',
      needs: [discovery],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await manifest(world)
        expectObject(answer)
        const others = Object.keys(recordAt(answer, 'body')).filter((key) => !keys.includes(key))
        expectEqual(others.length, 0, 'other keys:')
      },
    },
    {
      id: 'discovery.checked-at',
      title: 'the status is of this very moment',
      needs: [discovery],
      run: async (world) => {
        const checkedAt = instantAt((await manifest(world)).body, 'status.checked_at')
        const apartMs = Math.abs(Date.now() - checkedAt.getTime())
        expectThat(apartMs < 600_000, 'a time within ten minutes of now', checkedAt.toISOString())
      },
    },
    {
      id: 'discovery.inventory',
      title: 'the status counts the tasks that can be bought now, and comments on it',
      needs: [discovery],
      run: async (world) => {
        const { body } = await manifest(world)
        countAt(body, 'status.purchasable_tasks_now')
        textAt(body, 'status.inventory_note')
      },
    },
    {
      id: 'discovery.verify-endpoint',
      title: 'the status names where credentials are minted',
      needs: [discovery],
      run: async (world) => {
        const address = textAt((await manifest(world)).body, 'status.verify_endpoint')
        expectThat(address.includes('/api/agents/verify'), '/api/agents/verify', address)
      },
    },
    {
      id: 'discovery.machine-payable',
      title: 'the status says whether machines can pay for plans',
      needs: [discovery],
      run: async (world) => {
        booleanAt((await manifest(world)).body, 'status.machine_payable_plans')
      },
    },
    {
      id: 'discovery.agent-native',
      title: 'the 402 path in stablecoin is declared as live',
      needs: [discovery],
      run: async (world) => {
        const path = recordAt((await manifest(world)).body, 'settlement.agent_native')
        expectThat(JSON.stringify(path).includes('live'), 'live', path)
      },
    },
    {
      id: 'discovery.human-in-the-loop',
      title: 'the card checkout, by order and then fund, is declared as live',
      needs: [discovery],
      run: async (world) => {
        const path = recordAt((await manifest(world)).body, 'settlement.human_in_the_loop')
        expectThat(JSON.stringify(path).includes('live'), 'live', path)
      },
    },
    {
      id: 'discovery.binding-only',
      title: 'the rails on which nothing is collected are listed apart',
      needs: [discovery],
      isProjectDecision: true,
      run: async (world) => {
        filledListAt((await manifest(world)).body, 'settlement.binding_only')
      },
    },
    {
      id: 'discovery.chains',
      title: 'the supported chains are listed',
      needs: [discovery],
      isProjectDecision: true,
      run: async (world) => {
        for (const chain of listAt((await manifest(world)).body, 'settlement.chains'))
          expectThat(/^[a-z0-9-]{3,8}:[\w-]{1,32}$/.test(String(chain)), 'a CAIP-2 name', chain)
      },
    },
    {
      id: 'discovery.rail-agnostic',
      title: 'issuance is declared as independent of the rail',
      needs: [discovery],
      isProjectDecision: true,
      run: async (world) =>
        expectEqual(at((await manifest(world)).body, 'settlement.rail_agnostic'), true, 'rail_agnostic'),
    },
    {
      id: 'discovery.purchase-tool',
      title: 'the manifest names the purchase tool and the machine-tool address that has it',
      needs: [discovery],
      run: async (world) => {
        const { text } = await manifest(world)
        expectThat(text.includes('purchase_verified_human_task'), 'purchase_verified_human_task', text)
        expectThat(text.includes('/api/mcp'), '/api/mcp', text)
      },
    },
  ],
}
