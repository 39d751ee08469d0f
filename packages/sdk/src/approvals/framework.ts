import { obtainApproval } from './guard.ts'
import { requireGuardOptions, settingsOf, type GuardOptions } from './options.ts'

/**
 * A function of a framework: its first parameter is what people approve, and the rest is context of the framework, which is
 * passed on. `signalOf` finds the signal with which the framework ends a call.
 */
export const guardFirst = <Input, Context extends readonly unknown[], Output>(
  run: (input: Input, ...context: Context) => Output | Promise<Output>,
  options: GuardOptions,
  signalOf: (context: readonly unknown[]) => unknown,
): ((input: Input, ...context: Context) => Promise<Output>) => {
  const settings = settingsOf(options)
  requireGuardOptions(settings)
  return async (input, ...context) => {
    const ended = signalOf(context)
    const signals = [settings.signal, ended].filter((each) => each instanceof AbortSignal)
    const approved = await obtainApproval(
      signals.length === 0 ? settings : settingsOf({ ...settings, signal: AbortSignal.any(signals) }),
      input,
    )
    return await run(approved as Input, ...context)
  }
}

/** A member of an object at a path; undefined where there is none. */
export const memberOf = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  )
