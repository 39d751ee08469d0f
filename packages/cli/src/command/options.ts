import { Option, type Command } from 'commander'
import { readLogin } from './login-file.ts'

/**
 * What a command talks to. `local`: nothing. `public`: the service, without a key. `agent`: the service, with the agent's
 * key. `operator`: the operators' listener. `server`: it runs the server, whose log is its output.
 */
type CommandKind = 'local' | 'public' | 'agent' | 'operator' | 'server'
const kinds = new WeakMap<Command, CommandKind>()
const examples = new WeakMap<Command, readonly string[]>()

export const kindOf = (command: Command): CommandKind | undefined => kinds.get(command)
export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? []

const makeAdder =
  (kind: CommandKind) =>
  (parent: Command, text: string, description: string, ...calls: readonly string[]): Command => {
    const command = parent.command(text).description(description)
    kinds.set(command, kind)
    examples.set(command, calls)
    return command
  }

/** Each adds a command: its parent, its name with arguments, its description, and examples without the word pohf. */
export const addLocal = makeAdder('local')
export const addPublic = makeAdder('public')
export const addAgent = makeAdder('agent')
export const addOperator = makeAdder('operator')
export const addServer = makeAdder('server')

const defaultUrl = 'http://127.0.0.1:3000'
const defaultOperatorUrl = 'http://127.0.0.1:3001'
const commonHeading = 'Common options:'
const common = (option: Option): Option => option.helpGroup(commonHeading)

export const helpOption = (): Option => common(new Option('-h, --help', 'show this help'))
const jsonOption = () => common(new Option('--json', 'print JSON on standard output, and nothing else there'))
const urlOption = () =>
  common(
    new Option('--url <url>', `address of the service; default: that of pohf login, else ${defaultUrl}`).env(
      'POHF_URL',
    ),
  )
const keyOption = () =>
  common(new Option('--key <key>', 'API key of the agent; default: that of pohf login').env('POHF_KEY'))
const operatorUrlOption = () =>
  common(
    new Option(
      '--operator-url <url>',
      `address of the operators’ listener; default: ${defaultOperatorUrl}`,
    ).env('POHF_OPERATOR_URL'),
  )
const operatorKeyOption = () =>
  common(new Option('--operator-key <key>', 'key of the operator').env('POHF_OPERATOR_KEY'))

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)

/**
 * Fills in the address and the key: of the option, of the variable, of the login. The key of the login goes only to the
 * service that it is for.
 */
const fillInAgent = (command: Command): void => {
  const { url: namedUrl, key: namedKey } = command.opts<{ url?: string; key?: string }>()
  const needsLogin = namedUrl === undefined || (kindOf(command) === 'agent' && namedKey === undefined)
  const login = needsLogin ? readLogin() : undefined
  const url = namedUrl ?? login?.url ?? defaultUrl
  command.setOptionValue('url', url)
  if (kindOf(command) !== 'agent') return
  // POHF_API_KEY was the name of the variable in the first release.
  const key = namedKey ?? process.env['POHF_API_KEY']
  const ofLogin = login && originOf(login.url) === originOf(url) ? login.key : undefined
  command.setOptionValue('key', key ?? ofLogin)
}

/** `--url` and `--key` were the names of these options in the first release. */
const fillInOperator = (command: Command): void => {
  const options = command.opts<Record<'url' | 'key' | 'operatorUrl' | 'operatorKey', string | undefined>>()
  command.setOptionValue('url', options.url ?? options.operatorUrl ?? defaultOperatorUrl)
  command.setOptionValue('key', options.key ?? options.operatorKey)
}

const addOptionsOf = (command: Command, kind: CommandKind): void => {
  switch (kind) {
    case 'agent':
      command.addOption(urlOption()).addOption(keyOption()).hook('preAction', fillInAgent)
      break
    case 'public':
      command.addOption(urlOption()).hook('preAction', fillInAgent)
      break
    case 'operator':
      command
        .addOption(operatorUrlOption())
        .addOption(operatorKeyOption())
        .addOption(new Option('--url <url>').hideHelp())
        .addOption(new Option('--key <key>').hideHelp())
        .hook('preAction', fillInOperator)
      break
    case 'local':
    case 'server':
  }
  if (kind !== 'server') command.addOption(jsonOption())
}

/** Adds the options that commands share, after those of their own. */
export const addCommonOptions = (command: Command): void => {
  command.helpCommand(false)
  const kind = kindOf(command)
  if (kind !== undefined) addOptionsOf(command, kind)
  for (const inner of command.commands) addCommonOptions(inner)
}

const variables = [
  'POHF_URL',
  'POHF_KEY',
  'POHF_API_KEY',
  'POHF_OPERATOR_URL',
  'POHF_OPERATOR_KEY',
  'POHF_WEBHOOK_SECRET',
]

/** An empty variable counts as unset, as in the settings of the server. */
export const unsetEmptyVariables = (environment: NodeJS.ProcessEnv = process.env): void => {
  for (const name of variables) if (environment[name] === '') delete environment[name]
}
