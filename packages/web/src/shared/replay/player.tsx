import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Point, SessionTimeline } from './timeline.ts'
import { fillPlaceholders } from '../design/fill-placeholders.ts'
import type { ReplayMessages } from './messages.ts'

/** The path of the last milliseconds is drawn stronger. */
const tailMs = 700
const speeds = [0.5, 1, 2, 4] as const
/** Who wants no motion sees whole seconds, one after the other. */
const reducedMotionStepMs = 1_000

const prefersReducedMotion = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches
const windowOf = ({ environment }: SessionTimeline) => ({
  width: environment?.width || 1_280,
  height: environment?.height || 720,
})

const paint = (
  canvas: HTMLCanvasElement,
  timeline: SessionTimeline,
  points: readonly Point[],
  t: number,
): void => {
  const context = canvas.getContext('2d')
  if (!context) return
  const ratio = devicePixelRatio || 1
  canvas.width = canvas.clientWidth * ratio
  canvas.height = canvas.clientHeight * ratio
  const scale = canvas.width / windowOf(timeline).width
  const style = getComputedStyle(canvas)
  const colour = (name: string) => style.getPropertyValue(name)
  const stroke = (from: number, to: number, lineWidth: number, name: string) => {
    context.strokeStyle = colour(name)
    context.lineWidth = lineWidth * ratio
    context.lineJoin = context.lineCap = 'round'
    context.beginPath()
    for (const run of timeline.path) {
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
  if (!prefersReducedMotion()) stroke(t - tailMs, t, 2.5, '--plot-2')
  for (const press of timeline.presses) if (press.t <= t) disc(press, 5, '--ink-3', false)
  const here = points.findLast((point) => point.t <= t)
  if (here) disc(here, 4, '--plot-2', true)
  context.font = `600 ${11 * ratio}px system-ui`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  for (const { n, at, result, answeredAt } of timeline.questions) {
    if (!at || answeredAt === null || answeredAt > t) continue
    disc(at, 10, result === 'hit' ? '--seal' : '--warn', true)
    context.fillStyle = colour('--card')
    context.fillText(String(n), at.x * scale, at.y * scale)
  }
}

/** Moves time on while it plays; gives how to begin and to hold. */
const usePlayback = (timeline: SessionTimeline, t: number, onTime: (t: number) => void) => {
  const [playing, setPlaying] = useState(false)
  const [speed, setSpeed] = useState<number>(1)
  const now = useRef(t)
  now.current = t
  useEffect(() => {
    if (!playing) return undefined
    const isCalm = prefersReducedMotion()
    let last = performance.now()
    let at = now.current
    let frame = requestAnimationFrame(function step(stamp) {
      at += (stamp - last) * speed
      last = stamp
      const shown = isCalm ? Math.floor(at / reducedMotionStepMs) * reducedMotionStepMs : at
      if (at >= timeline.durationMs) onTime(timeline.durationMs)
      else if (shown > now.current) onTime(shown)
      if (at < timeline.durationMs) frame = requestAnimationFrame(step)
      else setPlaying(false)
    })
    return () => cancelAnimationFrame(frame)
  }, [playing, speed, timeline, onTime])
  const toggle = () => {
    if (!playing && t >= timeline.durationMs) onTime(0)
    setPlaying(!playing)
  }
  return { playing, hold: () => setPlaying(false), toggle, speed, setSpeed }
}

type PlayerProps = {
  readonly timeline: SessionTimeline
  readonly messages: ReplayMessages
  readonly t: number
  readonly onTime: (t: number) => void
}

const PointerCanvas = ({ timeline, messages, t }: Omit<PlayerProps, 'onTime'>) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const points = useMemo(() => timeline.path.flat(), [timeline])
  const now = useRef(t)
  now.current = t
  useEffect(() => {
    const repaint = () => canvas.current && paint(canvas.current, timeline, points, now.current)
    repaint()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    addEventListener('resize', repaint)
    scheme.addEventListener('change', repaint)
    return () => {
      removeEventListener('resize', repaint)
      scheme.removeEventListener('change', repaint)
    }
  }, [timeline, points, t])
  if (points.length === 0) return <p class="quiet">{messages.noPointer}</p>
  const { width, height } = windowOf(timeline)
  const isAway = !timeline.inView.some(({ from, to }) => from <= t && t <= to)
  return (
    <div class={isAway ? 'screen away' : 'screen'}>
      <canvas
        ref={canvas}
        class="pointer-canvas"
        style={{ '--ratio': String(Math.min(4, Math.max(0.4, width / height))) }}
        role="img"
        aria-label={fillPlaceholders(messages.path, {
          points: points.length,
          presses: timeline.presses.length,
        })}
      />
      {isAway && <p class="chip warn">{messages.away}</p>}
    </div>
  )
}

/** The window of the visit with the pointer's path in it, and what plays it. */
export const Player = ({ timeline, messages, t, onTime }: PlayerProps) => {
  const { playing, hold, toggle, speed, setSpeed } = usePlayback(timeline, t, onTime)
  const seconds = (ms: number): string =>
    (ms / 1_000).toLocaleString(messages.locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
  return (
    <>
      <PointerCanvas timeline={timeline} messages={messages} t={t} />
      <div class="player" role="group" aria-label={messages.player}>
        <button type="button" class="btn" onClick={toggle}>
          {playing ? messages.pause : messages.play}
        </button>
        <input
          type="range"
          min={0}
          max={timeline.durationMs}
          step={50}
          value={t}
          aria-label={messages.time}
          aria-valuetext={fillPlaceholders(messages.timeValue, {
            at: seconds(t),
            of: seconds(timeline.durationMs),
          })}
          onInput={(event) => {
            hold()
            onTime(Number(event.currentTarget.value))
          }}
          onKeyDown={(event) => {
            if (event.key !== ' ') return
            event.preventDefault()
            toggle()
          }}
        />
        <span class="num faint">
          {seconds(t)} / {seconds(timeline.durationMs)} s
        </span>
        <select
          aria-label={messages.speed}
          value={speed}
          onChange={(event) => setSpeed(Number(event.currentTarget.value))}
        >
          {speeds.map((one) => (
            <option key={one} value={one}>
              {one.toLocaleString(messages.locale)} ×
            </option>
          ))}
        </select>
      </div>
    </>
  )
}
