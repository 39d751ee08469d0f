import { useCallback, useState } from 'preact/hooks'
import { Player } from './player.tsx'
import { Tracks } from './tracks.tsx'
import type { SessionTimeline } from './timeline.ts'
import { replayMessages, type ReplayMessages } from './messages.ts'
import './replay.css'

/** The replay of a session: a player for the pointer's path, and tracks of all recorded events. */
export const Replay = ({
  timeline,
  messages = replayMessages.en,
}: {
  timeline: SessionTimeline
  messages?: ReplayMessages
}) => {
  const [t, setT] = useState(timeline.durationMs)
  const onTime = useCallback((next: number) => setT(next), [])
  return (
    <>
      <Player timeline={timeline} messages={messages} t={t} onTime={onTime} />
      <Tracks timeline={timeline} messages={messages} t={t} />
    </>
  )
}
