import { route, type Route } from '../platform/http/call.ts'
import type { Keyless } from './keyless.ts'
import { operatorAdd, type TrustDeps } from './operator-add.ts'
import { operatorList } from './operator-list.ts'
import { operatorRemove } from './operator-remove.ts'

/** The change counts in this process at once. */
const forgetAfter = async <T>(
  { forgetRoots }: Pick<Keyless, 'forgetRoots'>,
  work: Promise<T>,
): Promise<T> => {
  const result = await work
  forgetRoots()
  return result
}

export const operatorRoutes = (
  deps: TrustDeps & { readonly keyless: Pick<Keyless, 'forgetRoots'> },
): Route[] => [
  route('trust.operator-list', () => operatorList(deps.ctx)),
  route('trust.operator-add', (call) =>
    forgetAfter(deps.keyless, operatorAdd(deps, call.operator, call.body)),
  ),
  route('trust.operator-remove', (call) =>
    forgetAfter(deps.keyless, operatorRemove(deps, call.operator, call.body)),
  ),
]
