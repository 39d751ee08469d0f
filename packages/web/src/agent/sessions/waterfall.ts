import {
  componentNames,
  flagCaps,
  gazeWeight,
  qualityOf,
  weights,
  type Components,
  type FlagName,
} from '@pohf/scorer'

export type WaterfallStep = {
  readonly name: string
  /** What was measured; null for a cap. */
  readonly measured: number | null
  readonly from: number
  readonly to: number
  readonly why: string
}

const texts: Readonly<Record<(typeof componentNames)[number], string>> = {
  focus: 'the page was in view and had the focus',
  probe: 'questions were answered correctly and in time',
  input: 'the motion looks like that of a person',
  device: 'what is known of the device',
  history: 'earlier checks of this member',
}
/** The smallest value that a part counts with, as in the formula. */
const smallest = 0.01

const isFlag = (name: string): name is FlagName => name in flagCaps

const partSteps = (components: Components): WaterfallStep[] => {
  const measured = componentNames.flatMap((name) => {
    const value = components[name]
    return value === null ? [] : [{ name, value }]
  })
  const total = measured.reduce((sum, { name }) => sum + weights[name], 0)
  let from = 1
  return measured.map(({ name, value }) => {
    const to = from * Math.max(smallest, value) ** (weights[name] / total)
    const step = { name, measured: value, from, to, why: texts[name] }
    from = to
    return step
  })
}

/** Gaze can only raise the quality. */
const gazeSteps = (components: Components, plain: number): WaterfallStep[] => {
  const { gaze } = components
  if (gaze === null) return []
  const total = componentNames.reduce((sum, name) => sum + (components[name] === null ? 0 : weights[name]), 0)
  const withGaze = (plain ** total * Math.max(smallest, gaze) ** gazeWeight) ** (1 / (total + gazeWeight))
  const to = Math.max(plain, withGaze)
  return [{ name: 'gaze', measured: gaze, from: plain, to, why: 'the eyes were on the page; it only raises' }]
}

const capSteps = (flags: readonly FlagName[], before: number): WaterfallStep[] => {
  let from = before
  return flags.map((name) => {
    const to = Math.min(from, flagCaps[name].cap)
    const step = {
      name,
      measured: null,
      from,
      to,
      why: `limits the quality to ${flagCaps[name].cap.toFixed(2)}`,
    }
    from = to
    return step
  })
}

/**
 * How the quality came about, step by step from 1: the weighted geometric mean as a product, then gaze, then the limits of
 * flags. Undefined where these rules do not give the recorded quality, because others scored the session.
 */
export const waterfallOf = (
  components: Components,
  flagNames: readonly string[],
  quality: number,
): readonly WaterfallStep[] | undefined => {
  const flags = flagNames.filter(isFlag)
  if (Math.abs(qualityOf(components, flags) - quality) > 0.0015) return undefined
  const parts = partSteps(components)
  const afterParts = parts.at(-1)?.to ?? 0
  const gaze = gazeSteps(components, afterParts)
  return [...parts, ...gaze, ...capSteps(flags, gaze.at(-1)?.to ?? afterParts)]
}
