export const usageText = `Lancelot: an autonomous engineer that asks before risky actions and records everything it does.

Usage: lancelot COMMAND [ARGUMENTS] [OPTIONS]

  lancelot chat "TASK"           run a task; shows diffs before it writes them
      --workspace DIR            workspace folder (default: this folder)
      --yes-tier T0|T1|T2|T3     approve up to this tier without asking
      --quest ID                 continue the task with this id
      --json                     print events as JSON lines; never asks
      --download                 download the local model if no model is ready
  lancelot call METHOD '{…}'     call a contract method; owner methods need LANCELOT_OWNER_TOKEN
  lancelot serve --port 0        start the HTTP and WebSocket gateway on loopback
  lancelot repl "COMMAND"        run ls, cat, grep, find, cp or mv without a shell, under the same rules
  lancelot receipts verify [FILE [KEY]]  verify the ledger, or the export FILE signed with KEY
  lancelot receipts export [ledger|receipts]  export to exports/ in the data folder
  lancelot soul status           show the active soul, its versions and pending proposals
  lancelot soul lint FILE        check a soul; exit code 1 if it cannot be activated
  lancelot soul diff [V1] [V2]   compare versions; or: soul diff PROPOSAL
  lancelot memory [status]       show memory; also core, search QUERY, contexts, compile "TASK"
  lancelot memory remember "…"   save a memory; forget "…" deletes one
  lancelot memory commits        list changes; rollback ID or rollback --last N reverts them
  lancelot memory quarantine     list pending memories; promote ID approves one, deny ID rejects it
  lancelot memory export [markdown|jsonl]  export to exports/ in the data folder; backup exports everything
  lancelot memory import FILE    import an export or a memory.jsonl; --replace, --dry-run
  lancelot memory jobs           list maintenance jobs; run JOB runs one now
  lancelot policy explain "CMD"  show the decision on a command, and the reasons
      --cwd DIR                  folder of the command (default: the workspace)
  lancelot models                list models
  lancelot models download [intent]  download the local model, or only the intent classifier
  lancelot models choose PROVIDER [MODEL]  set the active provider and model
  lancelot usage [DAYS]          show usage and cost by lane, model and task
  lancelot usage cap task|day AMOUNT|none  set a spending cap in US dollars
  lancelot key set NAME          store an API key (read from the terminal or standard input)
  lancelot key list              list the names of stored keys
  lancelot key delete NAME       delete a stored key

  --data DIR                     data folder (default: LANCELOT_DATA, or the platform's data folder)

API keys: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or XAI_API_KEY, or use lancelot key set.
`;
