import type { Probe } from '@pohf/protocol'
import { Refusal } from '../../platform/http/errors.ts'
import { makeThread } from '../../platform/queue/thread.ts'
import { renderProbe, type Language } from './probes.ts'
import type { ProbeSeed } from './schedule.ts'

/** Pictures that wait for the thread: about two seconds of its work. */
const waitingMax = 1_000
const silentMsMax = 10_000

export type RenderProbe = (probe: ProbeSeed, language?: Language) => Promise<Probe>

const overloaded = () => new Refusal('overloaded', { headers: { 'retry-after': '2' } })

/**
 * Renders probes as pages receive them. A picture takes 1 to 2 ms of a processor, so a thread draws it: chunks of others do
 * not wait for it. No picture is drawn in advance or twice: its seed is of one session and stored before it is drawn.
 */
export const makeProbeRenderer = (): RenderProbe => {
  const thread = makeThread<ProbeSeed, Probe>({
    program: new URL('picture-thread.ts', import.meta.url),
    waitingMax,
    silentMsMax,
    fullError: overloaded,
  })
  return async (probe, language) =>
    probe.kind === 'choose'
      ? renderProbe(probe, language)
      : thread.run({ kind: probe.kind, seed: probe.seed })
}
