import { useCallback, useState } from 'preact/hooks'
import { Film } from './film.tsx'
import { Lanes } from './lanes.tsx'
import type { Story } from './story.ts'
import { replayWords, type ReplayWords } from './words.ts'
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
