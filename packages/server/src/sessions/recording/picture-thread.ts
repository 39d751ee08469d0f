import { serveThread } from '../../platform/queue/thread.ts'
import { renderProbe } from './probes.ts'
import type { ProbeSeed } from './schedule.ts'

serveThread((probe: ProbeSeed) => renderProbe(probe))
