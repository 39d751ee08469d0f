import { useEffect, useRef, useState } from 'preact/hooks'
import type { Story } from './story.ts'

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** The last so many milliseconds are drawn strongly, like a comet's tail. */
const tailMs = 700

const paint = (canvas: HTMLCanvasElement, story: Story, t: number): void => {
  const context = canvas.getContext('2d')
  const { width, height } = story.environment ?? { width: 1_280, height: 720 }
  if (!context || width === 0) return
  const ratio = devicePixelRatio || 1
  const shownWidth = canvas.clientWidth
  canvas.width = shownWidth * ratio
  canvas.height = (shownWidth * height * ratio) / width
  const scale = canvas.width / width
  const colour = (name: string) => getComputedStyle(canvas).getPropertyValue(name)
  const stroke = (from: number, to: number, lineWidth: number, name: string) => {
    context.strokeStyle = colour(name)
    context.lineWidth = lineWidth * ratio
    context.lineJoin = context.lineCap = 'round'
    context.beginPath()
    for (const run of story.path) {
      let isDrawing = false
      for (const point of run) {
        if (point.t < from || point.t > to) continue
        if (isDrawing) context.lineTo(point.x * scale, point.y * scale)
        else context.moveTo(point.x * scale, point.y * scale)
        isDrawing = true
      }
    }
    context.stroke()
  }
  const disc = ({ x, y }: { x: number; y: number }, radius: number, name: string, isFull: boolean) => {
    context.beginPath()
    context.arc(x * scale, y * scale, radius * ratio, 0, 2 * Math.PI)
    context.lineWidth = 1.5 * ratio
    context.strokeStyle = context.fillStyle = colour(name)
    if (isFull) context.fill()
    else context.stroke()
  }
  stroke(0, Infinity, 1, '--line')
  stroke(0, t, 1.5, '--ink-3')
  stroke(t - tailMs, t, 2.5, '--plot-2')
  for (const press of story.presses) if (press.t <= t) disc(press, 5, '--ink-3', false)
  const here = story.path.flat().findLast((point) => point.t <= t)
  if (here) disc(here, 4, '--plot-2', true)
  context.font = `600 ${11 * ratio}px system-ui`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  for (const { n, at, result, answeredAt } of story.questions) {
    if (!at || answeredAt === null || answeredAt > t) continue
    disc(at, 10, result === 'hit' ? '--seal' : '--warn', true)
    context.fillStyle = colour('--card')
    context.fillText(String(n), at.x * scale, at.y * scale)
  }
}

export const Replay = ({ story, t, onTime }: { story: Story; t: number; onTime: (t: number) => void }) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [playing, setPlaying] = useState(false)
  const now = useRef(t)
  now.current = t
  useEffect(() => {
    const repaint = () => canvas.current && paint(canvas.current, story, now.current)
    repaint()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    addEventListener('resize', repaint)
    scheme.addEventListener('change', repaint)
    return () => {
      removeEventListener('resize', repaint)
      scheme.removeEventListener('change', repaint)
    }
  }, [story, t])
  useEffect(() => {
    if (!playing) return undefined
    let last = performance.now()
    let frame = requestAnimationFrame(function step(at) {
      const next = now.current + at - last
      last = at
      onTime(Math.min(next, story.ms))
      if (next < story.ms) frame = requestAnimationFrame(step)
      else setPlaying(false)
    })
    return () => cancelAnimationFrame(frame)
  }, [playing, story, onTime])
  const play = () => {
    if (!playing && t >= story.ms) onTime(0)
    setPlaying(!playing)
  }
  const points = story.path.reduce((sum, run) => sum + run.length, 0)
  return (
    <>
      {points === 0 ? (
        <p class="quiet">No pointer was used in this session. The line below shows when keys were pressed.</p>
      ) : (
        <canvas
          ref={canvas}
          class="film"
          role="img"
          aria-label={`The path of the pointer: ${points} points, ${story.presses.length} presses. The line below tells the same in time.`}
        />
      )}
      <div class="player">
        <button type="button" class="btn" onClick={play}>
          {playing ? 'Pause' : 'Play'}
        </button>
        <input
          type="range"
          min={0}
          max={story.ms}
          step={50}
          value={t}
          aria-label="Time in the session"
          aria-valuetext={`${seconds(t)} of ${seconds(story.ms)} seconds`}
          onInput={(event) => {
            setPlaying(false)
            onTime(Number(event.currentTarget.value))
          }}
        />
        <span class="num faint">
          {seconds(t)} / {seconds(story.ms)} s
        </span>
      </div>
    </>
  )
}
