import { route, type Route } from '../platform/http/call.ts'
import type { CheckDeps } from './check.ts'
import { list } from './list.ts'

export const routes = (deps: CheckDeps): Route[] => [route('issuers.list', (call) => list(deps, call.agent))]
