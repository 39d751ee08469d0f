import { serveThread } from '../../platform/queue/thread.ts'
import { renderDigits } from './digits.ts'
import type { PictureSeed } from './pictures.ts'

serveThread(
  ({ seed, asksOpen }: PictureSeed) =>
    `data:image/png;base64,${renderDigits(seed, asksOpen).toString('base64')}`,
)
