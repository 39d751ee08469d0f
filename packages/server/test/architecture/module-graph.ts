import { posix } from 'node:path'
import type { SourceFile } from './import-rules.ts'

/** `roles` and `wiring` are the composition root: they may import every module. */
const compositionRoot = new Set(['main', 'roles', 'wiring'])

/** The module of a path below src/, or `main` for the composition root. */
export const moduleOf = (path: string): string => {
  const [first = ''] = path.split('/')
  return !path.includes('/') || compositionRoot.has(first) ? 'main' : first
}

/** What a file imports from its own package, as paths below src/. */
const localImportsOf = (file: SourceFile): string[] =>
  [...file.text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    posix.join(posix.dirname(file.path), match[1] ?? ''),
  )

export type ModuleGraph = ReadonlyMap<string, ReadonlySet<string>>

/** Which modules each module imports, platform and the composition root left out. */
export const moduleGraphOf = (files: readonly SourceFile[]): ModuleGraph => {
  const graph = new Map<string, Set<string>>()
  for (const file of files) {
    const from = moduleOf(file.path)
    if (from === 'main' || from === 'platform') continue
    const targets = graph.get(from) ?? new Set<string>()
    graph.set(from, targets)
    for (const target of localImportsOf(file).map(moduleOf))
      if (target !== from && target !== 'platform' && target !== 'main') targets.add(target)
  }
  return graph
}

/** Modules in layers, lowest first: each imports modules of lower layers alone. Fails on a circle. */
export const layersOf = (graph: ModuleGraph): string[][] => {
  const layers: string[][] = []
  const placed = new Set<string>()
  while (placed.size < graph.size) {
    const layer = [...graph]
      .filter(([name, targets]) => !placed.has(name) && [...targets].every((target) => placed.has(target)))
      .map(([name]) => name)
      .toSorted()
    if (layer.length === 0)
      throw new Error(
        `modules in a circle: ${[...graph.keys()].filter((name) => !placed.has(name)).join(', ')}`,
      )
    for (const name of layer) placed.add(name)
    layers.push(layer)
  }
  return layers
}

/** The graph as text: the highest layer first, a line for each module that imports others. */
export const diagramOf = (graph: ModuleGraph): string => {
  const width = Math.max(...[...graph.keys()].map((name) => name.length))
  const targetsOf = (name: string): string => [...(graph.get(name) ?? [])].toSorted().join(' ')
  const [leaves = [], ...layers] = layersOf(graph)
  return [
    ...layers
      .map((layer, index) =>
        layer.map((name) => `${index + 2}  ${name.padEnd(width)}  imports ${targetsOf(name)}`),
      )
      .toReversed()
      .flat(),
    `1  import no module: ${leaves.join(' ')}`,
  ].join('\n')
}

/** A line for each package of the repository but the protocol, with what imports it, types included. */
export const packageLinesOf = (files: readonly SourceFile[]): string => {
  const importers = new Map<string, Set<string>>()
  for (const { path, text } of files)
    for (const [, name = ''] of text.matchAll(/from '(@pohf\/(?!protocol['/])[a-z-]+)/g))
      importers.set(name, (importers.get(name) ?? new Set()).add(moduleOf(path)))
  return [...importers]
    .map(([name, modules]) => `${name}  imported by ${[...modules].toSorted().join(' ')}`)
    .toSorted()
    .join('\n')
}
