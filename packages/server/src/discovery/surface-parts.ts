import type { Mode } from '@pohf/protocol'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { DocsPage } from './resources.ts'
import type { Tool } from './tools/tool.ts'

export type SurfaceParts = {
  readonly ctx: Ctx
  readonly dispatcher: Dispatcher
  readonly name: string
  readonly title: string
  readonly instructions: string
  readonly tools: readonly Tool[]
  /** The pages of the documentation that are offered as resources. */
  readonly docs: readonly DocsPage[]
  /** The mode whose questions wallets pay here; missing where no chain settles. */
  readonly walletMode?: Mode | undefined
}

/** The parts of a surface. A tool whose operation is not mounted stops the start. */
export const makeSurfaceParts = (parts: SurfaceParts): SurfaceParts => {
  for (const { name, needs } of parts.tools) {
    const missing = needs.filter((id) => !parts.dispatcher.has(id))
    if (missing.length > 0)
      throw new Error(`tool ${name} needs operations that no module mounts: ${missing.join(', ')}`)
  }
  return parts
}
