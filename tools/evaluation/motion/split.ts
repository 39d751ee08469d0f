// The split into training and test users. It is part of the data; here it is read and enforced.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Split = {
  readonly train: ReadonlySet<number>
  readonly test: ReadonlySet<number>
  /** Their strokes feed the human-derived bots. They are in neither the training set nor the test set of people. */
  readonly attacker: ReadonlySet<number>
  /** Families that stem from one idea are left out together. */
  readonly groups: readonly (readonly string[])[]
}

type StoredSplit = {
  readonly human_sapimouse: {
    readonly train_users: string
    readonly test_users: string
    readonly attacker_users: string
  }
  readonly bot_groups_leave_out_together: readonly (readonly string[])[]
}

function rangeOf(text: string): Set<number> {
  const match = /^(\d+)-(\d+)/.exec(text)
  if (!match) throw new Error(`"${text}" is not a range of users`)
  const users = new Set<number>()
  for (let user = Number(match[1]); user <= Number(match[2]); user += 1) users.add(user)
  return users
}

export function readSplit(folder: string): Split {
  const stored = JSON.parse(readFileSync(join(folder, 'splits.json'), 'utf8')) as StoredSplit
  return {
    train: rangeOf(stored.human_sapimouse.train_users),
    test: rangeOf(stored.human_sapimouse.test_users),
    attacker: rangeOf(stored.human_sapimouse.attacker_users),
    groups: stored.bot_groups_leave_out_together,
  }
}

/** What the check needs to know of a window: whose it is. */
export type Origin = {
  /** `human`, or the bot's family. */
  readonly family: string
  /** The family that a variant was made from. */
  readonly parent: string | null
  readonly user: number | null
}

export class LeakError extends Error {
  override readonly name = 'LeakError'
}

/** Refuses a fit whose training rows leak into its test rows. Looks at the rows themselves, not at how they were chosen. */
export function assertNoLeak(
  split: Split,
  heldOut: readonly string[],
  rows: { readonly trainingRows: readonly Origin[]; readonly testRows: readonly Origin[] },
): void {
  const hidden = new Set(heldOut)
  for (const { family, parent, user } of rows.trainingRows) {
    if (family === 'human' && (user === null || !split.train.has(user))) {
      throw new LeakError(`user ${user} is in the training set and is not a training user`)
    }
    if (hidden.has(family) || (parent !== null && hidden.has(parent))) {
      throw new LeakError(`family ${family} is in the training set of a model that is tested with it`)
    }
  }
  for (const { family, user } of rows.testRows) {
    if (family === 'human' && (user === null || !split.test.has(user))) {
      throw new LeakError(`user ${user} is in the test set and is not a test user`)
    }
    if (family !== 'human' && !hidden.has(family)) {
      throw new LeakError(`family ${family} is in the test set of a model that was trained with it`)
    }
  }
}
