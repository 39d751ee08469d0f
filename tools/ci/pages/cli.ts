import { exitCodeMeanings } from '../../../packages/cli/src/command/exit-codes.ts'
import { commandGroups } from '../../../packages/cli/src/program.ts'
import { readCliHelp } from '../cli-help.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

const variables: readonly (readonly [option: string, variable: string, meaning: string])[] = [
  [
    '`--url`',
    '`POHF_URL`',
    'address of the service; default: that of `pohf login`, else `http://127.0.0.1:3000`',
  ],
  ['`--key`', '`POHF_KEY`', 'API key of the agent; default: that of `pohf login`'],
  [
    '`--operator-url`',
    '`POHF_OPERATOR_URL`',
    'address of the operators’ listener; default: `http://127.0.0.1:3001`',
  ],
  ['`--operator-key`', '`POHF_OPERATOR_KEY`', 'key of an operator'],
  ['`--secret`', '`POHF_WEBHOOK_SECRET`', 'signing secret of a webhook endpoint'],
  ['`--key-file`', '`PAYER_PRIVATE_KEY`', 'private key of the wallet of `pohf buy`: a file, or the variable'],
]

const codes = tableOf(
  ['Code', 'Meaning'],
  [...exitCodeMeanings].map(([code, meaning]) => [`\`${code}\``, meaning]),
)

const cliPage = (): string => {
  const sections = readCliHelp().map(({ command, help }) => `## ${command}\n\n\`\`\`text\n${help}\n\`\`\``)
  const groups = commandGroups.map(
    ({ name, title }) => `- \`pohf help ${name}\`: ${title.replace(/^\w+: /, '')}`,
  )
  return `${generatedNote}

# Command line

In a checkout, run \`npx pohf <command>\`. \`pohf help GROUP\` lists the commands of a group with examples:

${groups.join('\n')}

## Address and keys

An option goes before its variable, and a variable before the login. \`pohf login\` and \`pohf register\` keep the key in
\`pohf/login.json\` in the folder \`XDG_CONFIG_HOME\` (default: \`~/.config\`), with mode 0600, together with the address of the
service. The key goes to that service only: with another \`--url\` it is not used. \`pohf logout\` deletes the file.

${tableOf(['Option', 'Variable', 'Meaning'], variables)}

## Output

Results go to standard output, everything else to standard error. With \`--json\`, standard output has JSON and nothing else: one
object, or one for each line of a list that is read page by page. A failed command then prints
\`{"ok":false,"error":CODE,"message":TEXT,"fix":TEXT}\`. On a terminal, a command that takes more than a second shows what it waits for.

## Exit codes

${codes}

${sections.join('\n\n')}
`
}

export const cliFiles = (): GeneratedFile[] => [['docs/reference/cli.md', cliPage()]]
