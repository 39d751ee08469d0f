import { timeAgo } from './time.ts'

/** To the second, in UTC; the head of the column or the label names the zone. */
const formatSeconds = (at: string): string => at.slice(0, 19).replace('T', ' ')

/** A point in time: the absolute time first, because that is what logs have, and how long ago it was. */
export const Moment = ({ at, now }: { at: string; now: number }) => (
  <time class="moment" dateTime={at}>
    <span class="num">{formatSeconds(at)}</span> <span class="faint">{timeAgo(at, now)}</span>
  </time>
)
