import { main } from '../../packages/sdk/src/cli/main.ts'

/** What a command printed, and its exit status. */
export type Ran = { readonly status: number | null; readonly out: string; readonly err: string }

/** Runs a command in this process: starting one takes longer than most of them. */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  size: { readonly columns: number; readonly rows: number } = { columns: 200, rows: 50 },
): Promise<Ran> {
  let out = ''
  let err = ''
  const status = await main(args, {
    write: async (text) => void (out += text.toString()),
    note: (line) => void (err += `${line}\n`),
    draw: (text) => void (err += text),
    isTty: false,
    isErrorTty: false,
    env,
    paint: (_style, text) => text,
    size: () => size,
  })
  return { status, out, err }
}
