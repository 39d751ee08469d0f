export type WorkerJob = {
  readonly targets: string
  readonly name: string
  readonly seed: string
  readonly from: number
  readonly to: number
  readonly untilMs: number
  /** What the worker found so far: one 32-bit number for each of `slots`. */
  readonly shared: SharedArrayBuffer
}
export const slots = { index: 0, inputs: 1, crashes: 2, slow: 3, accepted: 4, equal: 5, count: 6 } as const
