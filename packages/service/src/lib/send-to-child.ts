import type { ChildProcess, Serializable } from 'node:child_process'

/**
 * Sends a message to a child process. It may be gone before its end is known here: without a function for the error,
 * Node would end this process.
 */
export function sendToChild(child: ChildProcess, message: Serializable): void {
  if (child.connected) child.send(message, () => undefined)
}
