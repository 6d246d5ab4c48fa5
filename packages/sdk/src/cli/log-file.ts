import { closeSync, openSync, writeSync } from 'node:fs'
import type { LogEnd, LogHead, LogLine } from '../backtest/index.ts'
import { UsageError } from '../command-line/index.ts'

/** A log that is written line by line, so that a run that is cut off leaves what it has done. */
export class LogFile {
  private readonly file: number

  constructor(path: string) {
    try {
      this.file = openSync(path, 'wx')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      throw new UsageError(`${path} is there already`, 'Choose another name with --log.')
    }
  }

  write(line: LogHead | LogLine | LogEnd): void {
    writeSync(this.file, `${JSON.stringify(line)}\n`)
  }

  close(): void {
    closeSync(this.file)
  }
}
