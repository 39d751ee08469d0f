import { useCallback, useState } from 'preact/hooks'
import { Film } from './player.tsx'
import { Lanes } from './tracks.tsx'
import type { Story } from './timeline.ts'
import { replayWords, type ReplayWords } from './messages.ts'
import './replay.css'

/** A session to look at: the pointer's path as a film, and all that was recorded in lanes of time. */
export const Replay = ({ story, words = replayWords.en }: { story: Story; words?: ReplayWords }) => {
  const [t, setT] = useState(story.ms)
  const onTime = useCallback((next: number) => setT(next), [])
  return (
    <>
      <Film story={story} words={words} t={t} onTime={onTime} />
      <Lanes story={story} words={words} t={t} />
    </>
  )
}
