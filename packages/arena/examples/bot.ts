// A bot of your own: npx pohf attack packages/arena/examples/bot.ts --site agt_… --key svc_…
// This one opens a session, says that the page is watched, answers nothing, and ends when it is told to.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bot, openSession } from '../src/index.ts'

export const bot: Bot = async ({ target, signal }) => {
  const session = await openSession(target, {
    webdriver: false,
    width: 1_280,
    height: 720,
    touchPoints: 0,
    reducedMotion: false,
    coalesces: true,
  })
  const startedAt = performance.now()
  const now = () => Math.round(performance.now() - startedAt)
  let { receipt } = session
  let probes = 0
  await sleep(receipt.nextMs, undefined, { signal })
  receipt = await session.send([{ type: 'focus', t: 0, visible: true, focused: true, share: 100 }], now())
  for (let chunk = 0; chunk < 10; chunk += 1) {
    if (receipt.probe) probes += 1
    if (receipt.progress.done >= receipt.progress.of) break
    await sleep(receipt.nextMs, undefined, { signal })
    receipt = await session.send([], now())
  }
  return { sessionId: session.sessionId, status: await session.finish([], now()), probes, answered: 0 }
}
