import { join } from 'node:path'
import type { Project } from './project.ts'
import { makeConsumerInput } from './consumer-input.ts'
import { writeFileSync } from 'node:fs'

type Case = { readonly parameters: readonly string[]; readonly status: number; readonly output: RegExp }

const withoutServer = /needs the server, which is not part of the npm package/

/** Calls of the installed command line, with the exit code and the text of each. */
const casesIn = (folder: string): Case[] => {
  const { issuer, jwt, jwks } = makeConsumerInput()
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(jwks))
  const offline = ['--issuer', issuer, '--jwks', 'jwks.json', '--status', 'skip']
  const policy = ['--kinds', 'work', '--min-assurance', 'low', '--min-quality', '0']
  return [
    { parameters: ['--help'], status: 0, output: /^Usage: pohf / },
    { parameters: ['verify', jwt, ...offline, ...policy], status: 0, output: /Accepted: work/ },
    { parameters: ['verify', `${jwt}A`, ...offline, ...policy], status: 1, output: /Refused|✗/ },
    { parameters: ['dev'], status: 2, output: withoutServer },
    { parameters: ['migrate'], status: 2, output: withoutServer },
    { parameters: ['doctor'], status: 2, output: withoutServer },
    { parameters: ['operator', 'create', 'ada'], status: 2, output: withoutServer },
    { parameters: ['keys', 'admission', 'show'], status: 2, output: withoutServer },
    { parameters: ['keys', 'list', '--socket'], status: 2, output: withoutServer },
  ]
}

/** Runs the installed command line with one Node. */
export const commandLineFaults = (project: Project, node: string): string[] =>
  casesIn(project.folder).flatMap(({ parameters, status, output }) => {
    const result = project.run(node, ['node_modules/pohf/dist/main.js', ...parameters])
    return result.status === status && output.test(result.output)
      ? []
      : [
          `pohf ${parameters.slice(0, 2).join(' ').slice(0, 60)} ended with ${result.status}: ${result.output}`,
        ]
  })
