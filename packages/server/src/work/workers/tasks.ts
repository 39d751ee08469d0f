import { modes } from '@pohf/protocol'
import { listEligibleMemberships } from '../../members/index.ts'
import type { Person } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findOrder } from '../orders/store.ts'
import { findCurrentAssignment } from './store.ts'
import { summarizeAssignment } from './present.ts'
import { listOpenTasks } from '../units/queue/store.ts'
import { findMedianSeconds } from './time/store.ts'

const tasksMax = 100
const countMax = 100

/** The open tasks for this person, in each mode in which they are enrolled. */
export const workerTasks = (ctx: Ctx, { personId }: Person) =>
  inTransaction(ctx, 'system', async (tx) => {
    const memberships = await listEligibleMemberships(tx, personId)
    if (memberships.length === 0)
      throw new Refusal('member_not_enrolled', {
        message: 'Only enrolled people can work. Use the invitation link that a site sent you.',
      })
    const tasks = []
    for (const mode of modes.filter((one) => memberships.some((member) => member.mode === one))) {
      const openTasks = await listOpenTasks(tx, { mode, personId, limit: tasksMax, countMax })
      const medianSeconds = await findMedianSeconds(
        tx,
        mode,
        openTasks.map(({ taskId }) => taskId),
      )
      for (const open of openTasks) {
        const order = await findOrder(tx, { agentId: open.agentId, mode, orderId: open.orderId })
        if (!order?.terms) continue
        const { title, description, category, estMinutes, rewardStars } = order.terms
        tasks.push({
          workflowId: open.taskId,
          mode,
          title,
          description,
          category,
          estMinutes,
          medianSeconds: medianSeconds.get(open.taskId) ?? null,
          rewardStars,
          available: open.available,
        })
      }
    }
    const current = await findCurrentAssignment(tx, personId)
    return { tasks, current: current ? await summarizeAssignment(tx, current) : null }
  })
