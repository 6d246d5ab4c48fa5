import { takeAtMost } from '../args.ts'
import type { Command } from '../command.ts'
import { completionScript, SHELLS, type Shell } from '../completion-script.ts'
import { CliError } from '../exit-codes.ts'

/** `completion`: a script that completes commands, options and their values in a shell. */
export function completionCommand(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    args: 'bash|zsh|fish',
    about: 'Print the completion script of a shell.',
    options: {},
    examples: ['eval "$(priorbook completion bash)"', 'priorbook completion fish | source'],
    async run({ args, io }) {
      takeAtMost(args, 1, 'completion')
      const shell = SHELLS.find((name) => name === args[0])
      if (shell === undefined) {
        throw new CliError('usage', 'a shell is missing', `It is one of ${SHELLS.join(', ')}.`)
      }
      await io.write(completionScript(shell satisfies Shell, all()))
    },
  }
}
