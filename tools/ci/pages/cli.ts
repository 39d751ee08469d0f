import { readCliHelp } from '../cli-help.ts'
import { generatedNote, type GeneratedFile } from './markdown.ts'

const cliPage = async (): Promise<string> => {
  const sections = (await readCliHelp()).map(
    ({ command, help }) => `## ${command}\n\n\`\`\`text\n${help}\n\`\`\``,
  )
  return `${generatedNote}

# Command line

In a checkout, run \`npx pohf <command>\`. This page is the output of \`--help\` of every command.

${sections.join('\n\n')}
`
}

export const cliFiles = async (): Promise<GeneratedFile[]> => [['docs/reference/cli.md', await cliPage()]]
