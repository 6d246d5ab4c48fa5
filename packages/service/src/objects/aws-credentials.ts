import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { S3Credentials } from './s3-place.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The keys of the environment, or else of the profile in the shared credentials file:
 * https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
 */
export function readAwsCredentials(env: Environment): S3Credentials {
  const isInEnvironment = env['AWS_ACCESS_KEY_ID'] || env['AWS_SECRET_ACCESS_KEY']
  const { values, where } = isInEnvironment
    ? { values: env, where: 'the environment' }
    : readProfile(env)
  const accessKeyId = values['AWS_ACCESS_KEY_ID']
  const secretAccessKey = values['AWS_SECRET_ACCESS_KEY']
  const sessionToken = values['AWS_SESSION_TOKEN']
  if (!accessKeyId || !secretAccessKey) {
    const missing = accessKeyId
      ? 'AWS_SECRET_ACCESS_KEY'
      : `AWS_ACCESS_KEY_ID${secretAccessKey ? '' : ' and AWS_SECRET_ACCESS_KEY'}`
    throw new PriorbookError(
      'invalid_config',
      `the object storage needs credentials; set ${missing} (looked in ${where})`,
    )
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
}

/** The keys of a profile, under the names of their variables. */
function readProfile(env: Environment): { values: Environment; where: string } {
  const file = env['AWS_SHARED_CREDENTIALS_FILE'] || join(homedir(), '.aws', 'credentials')
  const profile = env['AWS_PROFILE'] || 'default'
  const values: Record<string, string> = {}
  let text = ''
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return {
      values,
      where: `the environment and ${file}, ${(error as NodeJS.ErrnoException).code}`,
    }
  }
  let isOurs = false
  for (const line of text.split(/\r?\n/)) {
    const section = /^\s*\[\s*(.*?)\s*\]/.exec(line)
    if (section !== null) isOurs = section[1] === profile
    const pair = /^\s*(aws_\w+)\s*=\s*(.*?)\s*$/i.exec(line)
    if (isOurs && pair !== null) values[pair[1]!.toUpperCase()] = pair[2]!
  }
  return { values, where: `the environment and profile ${profile} of ${file}` }
}
