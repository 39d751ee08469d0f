-- How long the latest questions took. Answers of the simulated worker say nothing about that.
create index order_units_answered on order_units (task_id, mode, delivered_at)
  where delivered_at is not null and worker_ref is distinct from 'wrk_simulated';
