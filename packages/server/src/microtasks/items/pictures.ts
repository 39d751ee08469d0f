import { Refusal } from '../../platform/http/errors.ts'
import { makeThread } from '../../platform/queue/thread.ts'

export type PictureSeed = { readonly seed: string; readonly asksOpen: boolean }
/** The picture of an item as a data URL. */
export type RenderTaskPicture = (picture: PictureSeed) => Promise<string>

const waitingMax = 500
const silentMsMax = 10_000

/** A thread draws, as it does for the questions of sessions: other requests do not wait for a picture. */
export const makePictureRenderer = (): RenderTaskPicture => {
  const thread = makeThread<PictureSeed, string>({
    program: new URL('picture-thread.ts', import.meta.url),
    waitingMax,
    silentMsMax,
    fullError: () => new Refusal('overloaded', { headers: { 'retry-after': '2' } }),
  })
  return thread.run
}
