import { UsageError, type Command, type Option } from '../../command-line/index.ts'
import { COMMON_OPTIONS, defineCommand, type CliExtra } from '../command.ts'

/** `completion`: a script that completes commands, options and their values in a shell. */
export function completionCommand(all: () => readonly Command<CliExtra>[]): Command<CliExtra> {
  return defineCommand({
    name: 'completion',
    args: 'bash|zsh|fish',
    mostArgs: 1,
    about: 'Print the completion script of a shell.',
    options: {},
    examples: ['eval "$(priorbook completion bash)"', 'priorbook completion fish | source'],
    async run({ args, io }) {
      const shell = SHELLS.find((name) => name === args[0])
      if (shell === undefined) {
        throw new UsageError('a shell is missing', `It is one of ${SHELLS.join(', ')}.`)
      }
      await io.write(completionScript(shell, all()))
    },
  })
}

/** The shells that a script can be made for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const

type Shell = (typeof SHELLS)[number]

type Commands = readonly Command<CliExtra>[]

/** The completion script of a shell, made from the commands themselves. */
export function completionScript(shell: Shell, commands: Commands): string {
  switch (shell) {
    case 'bash':
      return bash(commands)
    case 'zsh':
      return zsh(commands)
    case 'fish':
      return fish(commands)
  }
}

const optionsOf = (command: Command<CliExtra>): [string, Option][] =>
  Object.entries({ ...command.options, ...COMMON_OPTIONS })

function bash(commands: Commands): string {
  const cases = commands.map((command) => {
    const flags = optionsOf(command).map(([name]) => `--${name}`)
    return `    ${command.name}) words="${flags.join(' ')}" ;;`
  })
  const values = wordOptions(commands).map(
    ([command, name, words]) => `    ${command}:--${name}) words="${words.join(' ')}" ;;`,
  )
  return `# priorbook: completion for bash. Put this into ~/.bashrc: eval "$(priorbook completion bash)"
_priorbook() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  local command="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')} help" -- "$current"))
    return
  fi
  case "$command:$before" in
${values.join('\n')}
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$current" in -*) ;; *) COMPREPLY=($(compgen -f -- "$current")); return ;; esac
  case "$command" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _priorbook priorbook
`
}

function zsh(commands: Commands): string {
  const described = commands.map(({ name, about }) => `    '${name}:${quote(about)}'`)
  const cases = commands.map((command) => {
    const specs = optionsOf(command).map(([name, { type, about, value, words }]) => {
      const taken = words === undefined ? '' : `(${words.join(' ')})`
      const argument = type === 'boolean' ? '' : `:${value ?? 'VALUE'}:${taken}`
      return `        '--${name}[${quote(about).replaceAll(/[[\]]/g, '')}]${argument}'`
    })
    return `      ${command.name})\n        _arguments \\\n${specs.join(' \\\n')} \\\n        '*:argument:_files' ;;`
  })
  return `#compdef priorbook
# priorbook: completion for zsh. Put this into ~/.zshrc: eval "$(priorbook completion zsh)"
_priorbook() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=\${words[2]}
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _priorbook priorbook
`
}

function fish(commands: Commands): string {
  const lines = ['# priorbook: completion for fish. Run: priorbook completion fish | source']
  for (const { name, about } of commands) {
    lines.push(`complete -c priorbook -n __fish_use_subcommand -f -a ${name} -d '${quote(about)}'`)
  }
  for (const command of commands) {
    for (const [name, { type, short, about, words }] of optionsOf(command)) {
      const parts = [
        `complete -c priorbook -n '__fish_seen_subcommand_from ${command.name}' -l ${name}`,
        ...(short === undefined ? [] : [`-s ${short}`]),
        ...(type === 'boolean' ? [] : ['-r']),
        ...(words === undefined ? [] : [`-f -a '${words.join(' ')}'`]),
        `-d '${quote(about)}'`,
      ]
      lines.push(parts.join(' '))
    }
  }
  return `${lines.join('\n')}\n`
}

function wordOptions(commands: Commands): [string, string, readonly string[]][] {
  return commands.flatMap((command) =>
    optionsOf(command).flatMap(([name, { words }]): [string, string, readonly string[]][] =>
      words === undefined ? [] : [[command.name, name, words]],
    ),
  )
}

function quote(text: string): string {
  return text.replaceAll("'", '’').replaceAll(':', '\\:')
}
