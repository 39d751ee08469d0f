import { useCallback, useState } from 'preact/hooks'
import { Player } from './player.tsx'
import { Tracks } from './tracks.tsx'
import type { SessionTimeline } from './timeline.ts'
import { replayMessages, type ReplayMessages } from './messages.ts'
import './replay.css'

/** A session to look at: the pointer's path as a film, and all that was recorded in lanes of time. */
export const Replay = ({
  story,
  words = replayMessages.en,
}: {
  story: SessionTimeline
  words?: ReplayMessages
}) => {
  const [t, setT] = useState(story.durationMs)
  const onTime = useCallback((next: number) => setT(next), [])
  return (
    <>
      <Player story={story} words={words} t={t} onTime={onTime} />
      <Tracks story={story} words={words} t={t} />
    </>
  )
}
