/** How many tasks run at a time in one host unless the user says otherwise. Here without schemas, because the extension loads it at its start. */
export const defaultMaxRunningTasks = 4;
